//! Callers of a made-up run. The figures are invented, fixed, and mean nothing.

use faultline_model::lens::callers::{CallersFigures, ChainFigures, FrameFigures, LineCallers};

/// Functions, those that were inlined with a sign behind their names.
const FUNCTIONS: [&str; 14] = [
    "queued_spin_lock+",
    "rmqueue_bulk",
    "get_page_from_freelist",
    "__alloc_pages",
    "do_anonymous_page",
    "handle_mm_fault",
    "do_user_addr_fault",
    "exc_page_fault",
    "asm_exc_page_fault",
    "free_pcppages_bulk",
    "release_pages",
    "do_exit",
    "?",
    "arch_atomic_inc+",
];

fn chain(frames: &[u32], is_whole: bool, samples: u64) -> ChainFigures {
    ChainFigures { frames: frames.to_vec(), is_whole, samples }
}

/// The callers of a point: a lock that is taken to allocate and to free, a counter, and callers that are not known.
pub fn callers() -> CallersFigures {
    let frame = |name: &str| FrameFigures {
        name: Some(name.trim_end_matches('+').to_owned()).filter(|name| name != "?"),
        is_inlined: name.ends_with('+'),
    };
    let allocates = || chain(&[0, 1, 2, 3, 4, 5, 6, 7, 8], true, 900);
    let frees = || chain(&[0, 9, 10, 11], true, 450);
    let counts = || chain(&[13, 4, 5, 6, 7, 8], true, 600);
    let unknown = || chain(&[13, 12], false, 50);
    let line = |name: &str, address: u64, chains: Vec<ChainFigures>| LineCallers {
        name: name.into(),
        address: format!("{address:#x}"),
        samples: chains.iter().map(|chain| chain.samples).sum(),
        chains,
    };
    CallersFigures {
        transfers: 128_000,
        samples: 2000,
        one_in: 64,
        whole_share: 0.975,
        frames: FUNCTIONS.map(frame).to_vec(),
        chains: vec![allocates(), counts(), frees(), unknown()],
        lines: vec![
            line("zone.lock", 0xffff_ffff_82a0_1240, vec![allocates(), frees()]),
            line("counters.hits", 0xffff_ffff_82a0_1280, vec![counts(), unknown()]),
        ],
    }
}
