//! The common tests of all memory systems: random programs compared with a model of POSIX memory,
//! byte by byte; threads that change and use one space; and all frames are free at the end.

#[allow(dead_code, reason = "private mappings and truncation are for tests of `vm/memory`")]
#[path = "../../memory/tests/posix/mod.rs"]
mod posix;
mod programs;
mod threads;

use faultline_frame_designs::systems::{Backings, Cpu, OneToken, Ours, OursShared, Radix, System};
use faultline_memory::hosted::Outcome;
use faultline_memory::{FaultError, PageRange, Rights, VirtualPage};

fn pages(first: u64, pages: u64) -> PageRange {
    PageRange::new(VirtualPage(first), pages).unwrap()
}

const BOTH: Rights = Rights::from_bits(3);

/// A program's access: repeats until it succeeds or its fault cannot be resolved.
fn access<'m, S: System>(
    system: &S,
    cpu: &Cpu<'m>,
    space: &S::Space<'m>,
    page: u64,
    byte: usize,
    write: Option<u8>,
) -> Result<u8, FaultError> {
    let access = if write.is_some() { Rights::WRITE } else { Rights::READ };
    // Other threads may take a translation away before it is used.
    for _ in 0..100_000 {
        match system.access(cpu, space, VirtualPage(page), byte, write) {
            Outcome::Done(before) => return Ok(before),
            Outcome::Fault => system.fault(cpu, space, VirtualPage(page), access)?,
        }
    }
    panic!("a hundred thousand faults on page {page:#x}")
}

/// Every test for one design.
macro_rules! alike {
    ($($module:ident: $design:ty),* $(,)?) => {$(
        mod $module {
            use super::*;

            #[test]
            fn programs_agree_with_the_model_byte_by_byte() {
                programs::agree_with_the_model::<$design>();
            }

            #[test]
            fn threads_of_one_space_read_what_they_wrote() {
                threads::read_what_they_wrote::<$design>();
            }

            #[test]
            fn a_hundred_forks_in_a_row_lose_nothing() {
                programs::forks_in_a_row::<$design>();
            }
        }
    )*};
}

alike! {
    one_token: OneToken,
    radix: Radix,
    backings: Backings,
    ours_shared: OursShared,
    ours: Ours,
}
