//! Another host as a target, reached by OpenSSH's client (`client`). One connection serves many executions: it brings the agent and the workloads to a
//! directory of its own on the host (`link`), and ends with the target. The agent ends when its input does, kills what it started and removes the directory,
//! so nothing stays there, however the connection ends. A program of this host is sent with the directory that it runs in (`build`).
//!
//! Other systems behind a shell are reached in the same way (`reach`): a disk image that boots in the emulator (`image`), and gVisor (`gvisor`). An image without a
//! server of SSH is reached at its serial console (`serial`).
//!
//! What is brought there depends on the system (`agent::System`), and so does what it is asked (`asking`, `linux`, `bsd`).
//!
//! A host can also be brought up with something new (`bring_up`, `control`): installed, rebooted, waited for, and switched off and on if it does not come back.

mod asking;
mod bring_up;
mod bsd;
mod build;
mod client;
mod complaint;
mod control;
mod gvisor;
mod image;
mod link;
mod linux;
mod machine;
mod reach;
mod runsc;
mod serial;
mod session;

pub use bring_up::{FoundAgain, HostBoot, NotUp};
pub use build::check_size;
pub use control::{ARTEFACT, BringUp, bring_up, find_again};
pub use gvisor::GvisorMachine;
pub use image::ImageMachine;
pub use machine::{SshMachine, SshPaths};
