//! Names of addresses in programs and kernels built by the tests.

mod compiled;
mod kernel;
mod linked;
mod program;
