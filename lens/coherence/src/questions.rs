//! Open questions of one CPU: transfers that look like false sharing, until it is known whether the CPU uses the bytes
//! that the others had touched.
//!
//! A question is answered when the CPU touches one of these bytes: the transfer is true sharing. It stays open while the
//! CPU holds the line, and for its next [`REACH`] transfers of the line. For a CPU that takes a lock, and a little later
//! uses the data which the lock protects, needs both: if each had a line of its own, as many lines would move. Meanwhile
//! other CPUs that wait for the lock fetch the line again and again, and this CPU too while it waits. So reads that one
//! instruction repeats count as one transfer here, however many they are.

use crate::line::Bytes;
use crate::tally::{Cause, Key, Tally};
use rustc_hash::FxHashMap;

/// Number of further transfers of its line for which a question stays open. A critical section has few accesses.
const REACH: u8 = 4;

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
}

/// The questions, by line.
#[derive(Debug, Default)]
pub(crate) struct Questions(FxHashMap<u64, Vec<Question>>);

impl Questions {
    /// Bytes of a line that answer a question.
    pub(crate) fn foreign(&self, line: u64) -> Bytes {
        self.0.get(&line).map_or(0, |open| union(open))
    }

    /// The CPU touches bytes of a line. Corrects the tally. Returns the bytes that answer what is still open.
    pub(crate) fn answer(&mut self, line: u64, bytes: Bytes, tally: &mut Tally) -> Bytes {
        let Some(open) = self.0.get_mut(&line) else { return 0 };
        open.retain(|question| {
            let is_open = question.foreign & bytes == 0;
            if !is_open {
                tally.correct(&question.key, 1);
                question.again.iter().for_each(|(key, times)| tally.correct(key, *times));
            }
            is_open
        });
        union(open)
    }

    /// A line came by a transfer that is true sharing. Returns the bytes that answer what is still open.
    pub(crate) fn pass(&mut self, line: u64) -> Bytes {
        let Some(open) = self.0.get_mut(&line) else { return 0 };
        grow_older(open);
        union(open)
    }

    /// A line came by a transfer that looks like false sharing unless the CPU touches a byte of `foreign`, which is not
    /// empty. Returns the bytes that answer what is open.
    pub(crate) fn ask(&mut self, key: &Key, foreign: Bytes) -> Bytes {
        let open = self.0.entry(key.line).or_default();
        match open.last_mut() {
            Some(last) if last.age == 0 && repeats(&last.key, key) => {
                last.foreign |= foreign;
                match last.again.iter_mut().find(|(again, _)| again == key) {
                    Some((_, times)) => *times += 1,
                    None => last.again.push((*key, 1)),
                }
            }
            _ => {
                grow_older(open);
                open.push(Question { key: *key, again: Vec::new(), foreign, age: 0 });
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
    open.retain(|question| question.age <= REACH);
}

/// Whether a CPU reads the same again, as it does while it waits.
fn repeats(before: &Key, key: &Key) -> bool {
    let is_read = before.cause == Cause::Read && key.cause == Cause::Read;
    is_read && (before.site, before.offset, before.size) == (key.site, key.offset, key.size)
}
