//! Executes one workload's program under a keeper.

use super::HostPaths;
use crate::execution::LineSink;
use crate::keep::{Grace, Kept, Output, Program};
use crate::network::Attachment;
use crate::{Ending, Execution, StopFlag};
use faultline_model::protocol::LONGEST_LINE_BYTES;
use std::ffi::OsString;
use std::path::Path;

/// Number of bytes at the end of standard error that are kept.
const STDERR_KEPT_BYTES: usize = 4096;

/// See [`crate::Target::execute`].
pub(super) fn execute(paths: &HostPaths, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
    if let Err(text) = execution.check() {
        return Ending::NotStarted { text };
    }
    let arguments = |scratch: &Path| {
        let mut arguments = vec![OsString::from("--scratch"), scratch.as_os_str().to_owned()];
        arguments.extend(execution.arguments.iter().map(OsString::from));
        arguments
    };
    let program = Program {
        keeper: &paths.keeper,
        scratch: &paths.scratch,
        file: &paths.workloads.join(&execution.workload),
        arguments: &arguments,
        output: Output { longest_line: LONGEST_LINE_BYTES, stderr_bytes: STDERR_KEPT_BYTES },
        directory: execution.directory.as_deref(),
        waiting_is_free: false,
        grace: Grace::NONE,
        ours: None,
        environment: &execution.environment,
        system_settings: &execution.system_settings,
        namespace: match &execution.attachment {
            Attachment::Already => None,
            Attachment::Wires(_) => return Ending::NotStarted { text: "wires join guests, not this host".to_owned() },
            Attachment::Namespace(file) => Some(file),
        },
    };
    let kept = match Kept::start(&program) {
        Ok(kept) => kept,
        Err(text) => return Ending::NotStarted { text },
    };
    kept.follow(execution.limit, &mut |line, _| sink(line), stop).into()
}
