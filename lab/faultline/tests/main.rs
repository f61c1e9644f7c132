//! Tests of the command as users run it. They form one program, which is linked once.

mod lab;
#[expect(dead_code, reason = "only the store's own tests encrypt")]
#[path = "../../store/tests/place/server.rs"]
mod postgres;
mod ssh_guest {
    pub mod disk;
    pub mod machine;
}

mod bad_files;
mod beforehand;
mod bisect;
mod bisect_counted;
mod bisect_explained;
mod bisect_layouts;
mod ci;
mod clock_source;
mod command_lines;
mod compare;
mod compare_trees;
mod conclusions;
mod emulators;
mod generate;
mod golden;
mod guest;
mod gvisor;
mod history;
mod history_guest_host;
mod history_hosts;
mod history_jobs;
mod history_kernels;
mod history_releases;
mod hosts;
mod image;
mod kill_and_resume;
mod lab_failures;
mod lens_bare;
mod lens_callers;
mod lens_disk;
mod lens_kernel;
mod lens_machine;
mod lens_names;
mod lens_program;
mod lens_program_guest;
mod lens_real;
mod lens_repeats;
mod lens_theory;
mod namespaces;
mod partners;
mod published;
mod repositories;
mod run_command;
mod sandbox;
mod servers;
mod ssh;
mod ssh_bsd;
mod stored_runs;
mod trouble;
mod trust;
mod try_patches;
mod wires;
mod wrong_commands;
