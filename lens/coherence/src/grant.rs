//! What a CPU may do with a line without a call of the model.

use crate::line::{Bytes, Line};

/// Bytes of a line (bit *i* for byte *i*) that a CPU may read, and bytes that it may write, at no cost and without any change
/// of the model but what [`Grant::allows`] records. It is valid until another CPU [disturbs](crate::Cpu::disturbed) it, a bounded
/// cache drops the line, or this CPU accesses the line through the model again.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'m> {
    readable: Bytes,
    writable: Bytes,
    /// Those of the writable bytes of which the line has it recorded that they were written.
    recorded: Bytes,
    line: Option<&'m Line>,
}

impl<'m> Grant<'m> {
    /// Nothing is allowed.
    pub const NOTHING: Grant<'m> = Grant { readable: 0, writable: 0, recorded: 0, line: None };

    pub(crate) fn new(line: &'m Line, readable: Bytes, writable: Bytes, recorded: Bytes) -> Self {
        Grant { readable, writable, recorded, line: Some(line) }
    }

    /// Whether the CPU may read or write these bytes. If it may write them, they are recorded as written.
    #[inline]
    pub fn allows(&mut self, bytes: Bytes, writes: bool) -> bool {
        if !writes {
            return bytes & !self.readable == 0;
        }
        if bytes & !self.writable != 0 {
            return false;
        }
        if bytes & !self.recorded != 0
            && let Some(line) = self.line
        {
            line.note_written(bytes);
            self.recorded |= bytes;
        }
        true
    }

    /// The CPU may only read from now on.
    pub fn end_writing(&mut self) {
        self.writable = 0;
    }
}
