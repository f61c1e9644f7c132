//! Callers of sampled transfers: call chains by function, and those of the top lines.

use crate::lens::figures::share;
use faultline_record::lens::callers::{Callers, CallersFigures, Chain, ChainFigures, FrameFigures, LineCallers};
use faultline_record::lens::reading::{Line, Reading};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of lines whose chains are shown.
const LINES: usize = 5;

/// Number of chains shown for a line.
const CHAINS_OF_LINE: usize = 3;

/// The callers of a reading; `None` if it has none, or nothing was sampled.
pub(crate) fn figures(reading: &Reading) -> Option<CallersFigures> {
    let callers = reading.callers.as_ref().filter(|callers| callers.samples > 0)?;
    let names = Names::of(callers);
    let all = || callers.chains.iter();
    let whole = all().filter(|(chain, _)| chain.is_whole).map(|(_, samples)| samples).sum();
    let lines = reading.lines.iter().filter_map(|line| line_callers(line, callers, &names));
    Some(CallersFigures {
        transfers: callers.transfers,
        samples: callers.samples,
        one_in: callers.one_in,
        whole_share: share(whole, callers.samples),
        chains: names.chains(all()),
        lines: lines.take(LINES).collect(),
        frames: names.frames,
    })
}

fn line_callers(line: &Line, callers: &Callers, names: &Names) -> Option<LineCallers> {
    let own = || callers.chains.iter().filter(|(chain, _)| chain.line == Some(line.address));
    let samples = own().map(|(_, samples)| samples).sum();
    let mut chains = names.chains(own());
    chains.truncate(CHAINS_OF_LINE);
    let name = line.data.to_string();
    (samples > 0).then(|| LineCallers { name, address: format!("{:#x}", line.address), samples, chains })
}

/// Names of functions without source lines.
struct Names {
    frames: Vec<FrameFigures>,
    /// For each frame of the reading, its place among `frames`.
    places: Vec<u32>,
}

impl Names {
    fn of(callers: &Callers) -> Self {
        let mut known: BTreeMap<FrameFigures, u32> = BTreeMap::new();
        let (mut frames, mut places) = (Vec::new(), Vec::new());
        for frame in &callers.frames {
            let of = FrameFigures { name: frame.function.clone(), is_inlined: frame.is_inlined };
            places.push(*known.entry(of.clone()).or_insert_with(|| {
                frames.push(of);
                (frames.len() - 1) as u32
            }));
        }
        Names { frames, places }
    }

    /// Merges chains of the same functions, the most samples first.
    fn chains<'a>(&self, chains: impl Iterator<Item = &'a (Chain, u64)>) -> Vec<ChainFigures> {
        let mut sums: BTreeMap<(Vec<u32>, bool), u64> = BTreeMap::new();
        for (chain, samples) in chains {
            let frames = chain.frames.iter().filter_map(|&frame| self.places.get(frame as usize).copied()).collect();
            *sums.entry((frames, chain.is_whole)).or_default() += samples;
        }
        let figures = sums.into_iter().map(|((frames, is_whole), samples)| ChainFigures { frames, is_whole, samples });
        let mut figures: Vec<ChainFigures> = figures.collect();
        figures.sort_by_key(|chain| Reverse(chain.samples));
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{line, reading};
    use faultline_record::lens::callers::Frame;

    fn frame(function: &str, line: u32, is_inlined: bool) -> Frame {
        Frame { function: Some(function.into()), source: Some(format!("mm.c:{line}")), is_inlined }
    }

    fn chain(frames: &[u32], is_whole: bool, line: Option<u64>, samples: u64) -> (Chain, u64) {
        (Chain { frames: frames.to_vec(), is_whole, line }, samples)
    }

    /// A lock taken from two source lines of one function, and through another chain whose
    /// beginning is unknown.
    fn sampled() -> Reading {
        let frames = vec![
            frame("down_read", 5, true),
            frame("lock_mm", 9, false),
            frame("lock_mm", 12, false),
            frame("fault", 3, false),
            Frame { function: None, source: None, is_inlined: false },
        ];
        let chains = vec![
            chain(&[0, 1, 3], true, Some(0x1000), 40),
            chain(&[0, 2, 3], true, Some(0x1000), 30),
            chain(&[0, 4], false, Some(0x1000), 20),
            chain(&[0, 1, 3], true, None, 10),
        ];
        let callers = Callers { transfers: 800, samples: 100, one_in: 8, frames, chains };
        let lines = vec![line(0x1000, 700, "mm.lock"), line(0x2000, 100, "quiet")];
        Reading { callers: Some(callers), ..reading(8, 100, lines) }
    }

    #[test]
    fn chains_of_the_same_functions_are_one() {
        let figures = figures(&sampled()).unwrap();
        let named = |chain: &ChainFigures| {
            let names = chain.frames.iter().map(|&frame| figures.frames[frame as usize].shown());
            (names.collect::<Vec<_>>().join(" "), chain.is_whole, chain.samples)
        };
        let all: Vec<_> = figures.chains.iter().map(named).collect();
        let whole = "down_read lock_mm fault".to_owned();
        assert_eq!(all, [(whole.clone(), true, 80), ("down_read [unknown]".to_owned(), false, 20)]);
        assert_eq!((figures.samples, figures.one_in, figures.whole_share), (100, 8, 0.8));
        assert!(figures.frames[0].is_inlined && !figures.frames[1].is_inlined);
        let [of_line] = &figures.lines[..] else { panic!("a line without samples has no callers: {figures:?}") };
        assert_eq!((of_line.name.as_str(), of_line.address.as_str(), of_line.samples), ("mm.lock", "0x1000", 90));
        assert_eq!(named(&of_line.chains[0]), (whole, true, 70));
    }

    #[test]
    fn without_samples_there_are_no_callers() {
        assert_eq!(figures(&reading(8, 100, Vec::new())), None);
        let mut none = sampled();
        none.callers = none.callers.map(|callers| Callers { samples: 0, chains: Vec::new(), ..callers });
        assert_eq!(figures(&none), None);
    }
}
