//! One token for everything: DragonFly until 2011, whose `vm_token`, after the giant lock, is held through each fault and each change of any
//! map. Its maps had locks of their own too; within the token nobody waits for them, and they are left out.

use super::locks::{ByToken, Exclusive, Locks};

/// The locks of `OneToken`.
#[derive(Debug)]
pub enum Token {}

impl Locks for Token {
    const NAME: &'static str = "one-token";
    const YEAR: &'static str = "2010";
    const SHARED_FIRST: bool = false;
    type Whole = Exclusive;
    type Map = ByToken;
    type Object = ByToken;
    type Small = ByToken;
}
