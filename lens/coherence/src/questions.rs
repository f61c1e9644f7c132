//! Open questions of one CPU: transfers that look like false sharing, until it is known whether the CPU uses the bytes
//! that the others had touched.
//!
//! A question is answered when the CPU touches one of these bytes: the transfer is true sharing, since it brought the byte
//! along. It stays open while the CPU holds the line.
//!
//! If other CPUs also write what the transfer's access touched, the question stays open for the CPU's next [`REACH`]
//! transfers of the line. A CPU that takes a lock, and then uses the data which the lock protects, needs both:
//! if each had a line of its own, both would move when the lock passes on. Meanwhile other CPUs that wait for the lock fetch
//! the line again and again, and this CPU too while it waits. So reads that one instruction repeats count as one transfer
//! here, however many they are.
//!
//! A word that no other CPU writes is another matter: on a line of its own it would stay. If this CPU needs another transfer
//! to touch the bytes that the others had touched, that one is true sharing, and the transfer for the word remains false.

use crate::line::Bytes;
use crate::tally::{Cause, Key, Tally};
use rustc_hash::FxHashMap;

/// Number of further transfers of its line for which a question stays open. A critical section has few accesses.
const REACH: u8 = 4;

/// After this many transfers of a line, older writes by other CPUs are dropped. So writes before the last 32 to 64 transfers to
/// this CPU are remembered. A lock's holder may lose the line that often to those who wait.
const REMEMBERED: u8 = 32;

#[derive(Debug)]
struct Question {
    /// The transfer, or the first of those that one instruction repeated.
    key: Key,
    /// How many they are, by their keys: repeated reads may differ in their distance.
    again: Vec<(Key, u64)>,
    /// Bytes that answer it.
    foreign: Bytes,
    /// Transfers of the line since.
    age: u8,
    /// Transfers of the line after which it is closed.
    reach: u8,
}

/// Bytes that other CPUs wrote, as found at the transfers of a line.
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

/// A line about which there has been a question.
#[derive(Debug, Default)]
struct Asked {
    open: Vec<Question>,
    others: Others,
}

/// The questions, by line.
#[derive(Debug, Default)]
pub(crate) struct Questions(FxHashMap<u64, Asked>);

impl Questions {
    /// Bytes of a line that answer a question; `None` if there has not been any about the line.
    pub(crate) fn foreign(&self, line: u64) -> Option<Bytes> {
        self.0.get(&line).map(|asked| union(&asked.open))
    }

    /// The CPU touches bytes of a line. `moves`: by another transfer. Corrects the tally. Returns the bytes that answer what is
    /// still open.
    pub(crate) fn answer(&mut self, line: u64, bytes: Bytes, moves: bool, tally: &mut Tally) -> Bytes {
        let Some(Asked { open, .. }) = self.0.get_mut(&line) else { return 0 };
        open.retain(|question| {
            let is_open = question.foreign & bytes == 0 || moves && question.reach == 0;
            if !is_open {
                tally.correct(&question.key, 1);
                question.again.iter().for_each(|(key, times)| tally.correct(key, *times));
            }
            is_open
        });
        union(open)
    }

    /// A line came by a transfer that is true sharing. `written`: bytes that other CPUs wrote since this CPU held the line.
    /// Returns the bytes that answer what is still open.
    pub(crate) fn pass(&mut self, line: u64, written: Bytes) -> Bytes {
        let Some(Asked { open, others }) = self.0.get_mut(&line) else { return 0 };
        others.note(written);
        grow_older(open);
        union(open)
    }

    /// A line came by a transfer for an access to `bytes`, which looks like false sharing unless the CPU touches a byte of
    /// `foreign`, which is not empty. `written`: bytes that other CPUs wrote since this CPU held the line. Returns the bytes
    /// that answer what is open.
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

/// Whether a CPU reads the same again, as it does while it waits.
fn repeats(before: &Key, key: &Key) -> bool {
    let is_read = before.cause == Cause::Read && key.cause == Cause::Read;
    is_read && (before.site, before.offset, before.size) == (key.site, key.offset, key.size)
}
