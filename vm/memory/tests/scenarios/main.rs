//! Single cases: counts of pages copied, written and read, and the CPUs that are asked.

#[path = "../host/mod.rs"]
mod host;
#[path = "../store/mod.rs"]
mod store;

mod advice;
mod at_once;
mod guards;
mod large;
mod limits;
mod locks;
mod moves;
mod paging;
mod places;
mod spaces;
mod steps;

use faultline_memory::{Event, PageRange, Rights, VirtualPage};
use host::HostCpu;

const BOTH: Rights = Rights::from_bits(3);

fn pages(first: u64, pages: u64) -> PageRange {
    PageRange::new(VirtualPage(first), pages).unwrap()
}

fn counted(cpu: &HostCpu<'_, '_>, event: Event) -> u64 {
    cpu.memory().counters().of(event)
}
