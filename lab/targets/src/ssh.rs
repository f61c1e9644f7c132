//! Systems behind a shell as targets. A host is reached by OpenSSH's client (`client`). One
//! connection serves many executions: it brings the agent and the workloads to a directory of its
//! own on the host (`link`), and ends with the target. When its input ends, the agent kills what it
//! started and removes the directory, so nothing stays there, however the connection ends. A
//! program of this host is sent with its working directory (`build`).
//!
//! Other systems are reached in the same way (`reach`): a disk image that boots in the emulator
//! (`image`), and gVisor (`gvisor`). An image without an SSH server is reached at its serial
//! console (`serial`).
//!
//! The programs and the questions depend on the system (`agent::System`, `asking`, `linux`, `bsd`).
//!
//! A host can also be brought up with a new artefact (`bring_up`, `control`): install, reboot,
//! wait, and switch the power off and on if the host does not come back.

mod asking;
mod bring_up;
mod build;
mod client;
mod complaint;
mod control;
mod gvisor;
mod image;
mod link;
mod machine;
mod reach;
mod serial;
mod session;

pub use bring_up::{FoundAgain, HostBoot, NotUp};
pub use build::check_size;
pub use control::{ARTEFACT, BringUp, bring_up, find_again};
pub use gvisor::GvisorMachine;
pub use image::ImageMachine;
pub use machine::{SshMachine, SshPaths};
