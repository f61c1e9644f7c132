//! Another host as a target, reached by OpenSSH's client (`client`). One connection serves many executions: it brings the agent and the workloads to a
//! directory of its own on the host (`link`), and ends with the target. The agent ends when its input does, kills what it started and removes the directory,
//! so nothing stays there, however the connection ends.

mod client;
mod complaint;
mod link;
mod machine;
mod session;

pub use machine::{SshMachine, SshPaths};
