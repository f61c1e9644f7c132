//! Locks by object and map: DragonFly after its work of 2011. A fault has its map's lock shared, and the tokens of the objects that it looks a
//! page up in, which one thread at a time can have. A space's mappings and each page's list have a lock of their own.

use super::locks::{Exclusive, Locks, Parts, Shared};

/// The locks of `LocksByObject`.
#[derive(Debug)]
pub enum ByObject {}

impl Locks for ByObject {
    const NAME: &'static str = "locks-by-object";
    const YEAR: &'static str = "2011";
    const SHARED_FIRST: bool = false;
    type Whole = Parts;
    type Map = Shared;
    type Object = Exclusive;
    type Small = Exclusive;
}
