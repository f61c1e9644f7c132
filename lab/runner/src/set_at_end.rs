//! Sets a stop flag at the end of a scope, also if the scope ends by a panic. Threads that follow executions then end them.

use faultline_targets::StopFlag;

/// Sets the flag when it is dropped.
pub(crate) struct SetAtEnd<'a>(pub(crate) &'a StopFlag);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}
