//! Adds names to the sample of the transfers: its stacks become chains of functions.

use crate::names::Names;
use faultline_model::lens::callers::{Callers, Chain, Frame};
use faultline_model::lens::raw::RawSamples;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The callers of a sample. `lines`: the addresses of the lines that are saved.
pub(crate) fn callers(raw: &RawSamples, lines: &BTreeSet<u64>, names: &dyn Names) -> Callers {
    let mut frames = Frames { names, numbers: BTreeMap::new(), by_address: HashMap::new() };
    let mut chains: BTreeMap<Chain, u64> = BTreeMap::new();
    for sample in &raw.kept {
        let places = names.callers(sample);
        let numbers = places.addresses.iter().flat_map(|&address| frames.at(address)).collect();
        let line = Some(sample.line).filter(|line| lines.contains(line));
        *chains.entry(Chain { frames: numbers, is_whole: places.is_whole, line }).or_default() += 1;
    }
    let mut chains: Vec<(Chain, u64)> = chains.into_iter().collect();
    chains.sort_by_key(|(_, samples)| Reverse(*samples));
    let mut known: Vec<(Frame, u32)> = frames.numbers.into_iter().collect();
    known.sort_by_key(|&(_, number)| number);
    Callers {
        transfers: raw.transfers,
        samples: raw.kept.len() as u64,
        one_in: raw.one_in,
        frames: known.into_iter().map(|(frame, _)| frame).collect(),
        chains,
    }
}

/// The functions of all chains, numbered in the order in which they are met.
struct Frames<'a> {
    names: &'a dyn Names,
    numbers: BTreeMap<Frame, u32>,
    by_address: HashMap<u64, Vec<u32>>,
}

impl Frames<'_> {
    /// The functions at an address, the innermost first.
    fn at(&mut self, address: u64) -> Vec<u32> {
        if let Some(known) = self.by_address.get(&address) {
            return known.clone();
        }
        let numbers: Vec<u32> = self.names.frames(address).into_iter().map(|frame| self.number(frame)).collect();
        self.by_address.insert(address, numbers.clone());
        numbers
    }

    fn number(&mut self, frame: Frame) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(frame).or_insert(next)
    }
}
