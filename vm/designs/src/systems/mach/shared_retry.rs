//! Objects' locks shared at first: DragonFly from 2013 until 2018. A fault that finds its page needs the objects' tokens shared only; one that must
//! add a page to an object, or copy one, tries again with the first object's token exclusive. The page itself is busy meanwhile, for one thread at
//! a time, and each mapping of it is an entry in its list.

use super::locks::{Exclusive, Locks, Parts, Shared};

/// The locks of `SharedRetry`.
#[derive(Debug)]
pub enum Retry {}

impl Locks for Retry {
    const NAME: &'static str = "shared-retry";
    const YEAR: &'static str = "2013";
    const SHARED_FIRST: bool = true;
    type Whole = Parts;
    type Map = Shared;
    type Object = Shared;
    type Small = Exclusive;
}
