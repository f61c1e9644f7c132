//! Open questions of one CPU: transfers that look like false sharing, until the CPU uses the bytes
//! that other CPUs touched.
//!
//! A question is answered when the CPU touches one of these bytes. Then the transfer is true
//! sharing, because it brought the byte along. The question stays open while the CPU holds the
//! line.
//!
//! If other CPUs also write what the transfer's access touched, the question stays open for the
//! CPU's next [`REACH`] transfers of the line. A CPU that takes a lock and then uses the data that
//! the lock protects needs both: on separate lines, both would move when the lock passes on.
//! Meanwhile CPUs that wait for the lock fetch the line repeatedly, and so does this CPU while it
//! waits. Therefore reads repeated by one instruction count as one transfer here.
//!
//! A word that no other CPU writes is different: on a line of its own it would not move. If this
//! CPU needs another transfer to touch the bytes that others touched, that transfer is true
//! sharing, and the transfer for the word remains false sharing.

use crate::line::Bytes;
use crate::tally::{Cause, Key, Tally};
use rustc_hash::FxHashMap;

/// Number of further transfers of the line for which a question stays open. A critical section has
/// few accesses.
const REACH: u8 = 4;

/// Number of transfers of a line after which older writes of other CPUs are dropped. So the writes
/// before the last 32 … 64 transfers to this CPU are remembered: a lock's holder may lose the line
/// that often to waiting CPUs.
const REMEMBERED: u8 = 32;

#[derive(Debug)]
struct Question {
    /// The transfer, or the first of those that one instruction repeated.
    key: Key,
    /// Number of repetitions by key: repeated reads may differ in their distance.
    again: Vec<(Key, u64)>,
    /// Bytes that answer the question.
    foreign: Bytes,
    /// Number of transfers of the line since.
    age: u8,
    /// Number of transfers of the line after which the question is closed.
    reach: u8,
}

/// Bytes that other CPUs wrote, as noted at the transfers of a line.
#[derive(Debug, Default)]
struct Others {
    recent: Bytes,
    before: Bytes,
    transfers: u8,
}

impl Others {
    fn note(&mut self, written: Bytes) {
        if self.transfers == REMEMBERED {
            *self = Others { before: self.recent, ..Others::default() };
        }
        self.recent |= written;
        self.transfers += 1;
    }

    fn write(&self, bytes: Bytes) -> bool {
        bytes & (self.recent | self.before) != 0
    }
}

/// A line that has had a question.
#[derive(Debug, Default)]
struct Asked {
    open: Vec<Question>,
    others: Others,
}

/// The questions, by line.
#[derive(Debug, Default)]
pub(crate) struct Questions(FxHashMap<u64, Asked>);

impl Questions {
    /// Bytes of a line that answer an open question.
    pub(crate) fn foreign(&self, line: u64) -> Bytes {
        self.0.get(&line).map_or(0, |asked| union(&asked.open))
    }

    /// Answers questions about a line whose bytes the CPU touches, and corrects the tally. `moves`:
    /// the line came by another transfer.
    pub(crate) fn answer(&mut self, line: u64, bytes: Bytes, moves: bool, tally: &mut Tally) {
        let Some(Asked { open, .. }) = self.0.get_mut(&line) else { return };
        open.retain(|question| {
            let is_open = question.foreign & bytes == 0 || moves && question.reach == 0;
            if !is_open {
                tally.correct(&question.key, 1);
                question.again.iter().for_each(|(key, times)| tally.correct(key, *times));
            }
            is_open
        });
    }

    /// Notes a transfer of a line that is true sharing. `written`: bytes that other CPUs wrote
    /// since this CPU held the line. Returns the bytes that answer the questions still open.
    pub(crate) fn pass(&mut self, line: u64, written: Bytes) -> Bytes {
        let Some(Asked { open, others }) = self.0.get_mut(&line) else { return 0 };
        others.note(written);
        grow_older(open);
        union(open)
    }

    /// Asks about a transfer for an access to `bytes`, which is false sharing unless the CPU
    /// touches a byte of `foreign`, which is not empty. `written`: bytes that other CPUs wrote
    /// since this CPU held the line. Returns the bytes that answer the open questions.
    pub(crate) fn ask(&mut self, key: &Key, bytes: Bytes, foreign: Bytes, written: Bytes) -> Bytes {
        let Asked { open, others } = self.0.entry(key.line).or_default();
        others.note(written);
        let reach = if others.write(bytes) { REACH } else { 0 };
        match open.last_mut() {
            Some(last) if last.age == 0 && repeats(&last.key, key) => {
                last.foreign |= foreign;
                last.reach = last.reach.max(reach);
                match last.again.iter_mut().find(|(again, _)| again == key) {
                    Some((_, times)) => *times += 1,
                    None => last.again.push((*key, 1)),
                }
            }
            _ => {
                grow_older(open);
                open.push(Question { key: *key, again: Vec::new(), foreign, age: 0, reach });
            }
        }
        union(open)
    }
}

fn union(open: &[Question]) -> Bytes {
    open.iter().fold(0, |bytes, question| bytes | question.foreign)
}

fn grow_older(open: &mut Vec<Question>) {
    open.iter_mut().for_each(|question| question.age += 1);
    open.retain(|question| question.age <= question.reach);
}

/// True if a CPU repeats a read, as it does while it waits.
fn repeats(before: &Key, key: &Key) -> bool {
    let is_read = before.cause == Cause::Read && key.cause == Cause::Read;
    is_read && (before.site, before.offset, before.size) == (key.site, key.offset, key.size)
}
