//! Which locks a system of shadow objects has: what its three designs differ in.

use lock_api::{GuardSend, RawMutex, RawRwLock, RwLock};

/// A design's locks. Each may be one that always succeeds, because another is held.
pub trait Locks: Sync + Send + 'static {
    /// See [`System::NAME`](crate::systems::System::NAME).
    const NAME: &'static str;
    /// See [`System::YEAR`](crate::systems::System::YEAR).
    const YEAR: &'static str;
    /// Whether a fault looks pages up under shared locks, and again under exclusive ones if something must be changed.
    const SHARED_FIRST: bool;
    /// Held through each call.
    type Whole: RawRwLock + Send + Sync;
    /// Of a map.
    type Map: RawRwLock + Send + Sync;
    /// Of an object.
    type Object: RawRwLock + Send + Sync;
    /// Of a space's mappings, and of a page's.
    type Small: RawRwLock + Send + Sync;
}

/// A lock on lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Alone<R: RawRwLock>(RwLock<R, ()>);

impl<R: RawRwLock> Alone<R> {
    pub(super) fn new() -> Self {
        Alone(RwLock::new(()))
    }

    pub(super) fn lock(&self) -> lock_api::RwLockWriteGuard<'_, R, ()> {
        self.0.write()
    }
}

/// A spin lock that readers share: one word, which each reader adds to and subtracts from, as BSD's `lockmgr` and shared tokens.
pub type Shared = spin::RwLock<()>;

/// A spin lock that readers do not share.
pub struct Exclusive(spin::Mutex<()>);

// SAFETY: both kinds of holders have the mutex, so there is one at a time.
unsafe impl RawRwLock for Exclusive {
    const INIT: Self = Exclusive(<spin::Mutex<()> as RawMutex>::INIT);
    type GuardMarker = GuardSend;

    fn lock_shared(&self) {
        RawMutex::lock(&self.0);
    }

    fn try_lock_shared(&self) -> bool {
        RawMutex::try_lock(&self.0)
    }

    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller holds it.
        unsafe { RawMutex::unlock(&self.0) }
    }

    fn lock_exclusive(&self) {
        RawMutex::lock(&self.0);
    }

    fn try_lock_exclusive(&self) -> bool {
        RawMutex::try_lock(&self.0)
    }

    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller holds it.
        unsafe { RawMutex::unlock(&self.0) }
    }
}

/// No lock, because the caller has the token for everything.
pub struct ByToken;

// SAFETY: 1. Everything that has this lock is reached only by calls that hold the token, so from one thread at a time. 2. Within a call nothing
// is locked while it is locked: the same code takes real locks in the other designs, where it would wait for itself.
unsafe impl RawRwLock for ByToken {
    const INIT: Self = ByToken;
    type GuardMarker = GuardSend;

    fn lock_shared(&self) {}

    fn try_lock_shared(&self) -> bool {
        true
    }

    unsafe fn unlock_shared(&self) {}

    fn lock_exclusive(&self) {}

    fn try_lock_exclusive(&self) -> bool {
        true
    }

    unsafe fn unlock_exclusive(&self) {}
}

/// No lock, because the parts have their own.
pub struct Parts;

// SAFETY: it is put around nothing.
unsafe impl RawRwLock for Parts {
    const INIT: Self = Parts;
    type GuardMarker = GuardSend;

    fn lock_shared(&self) {}

    fn try_lock_shared(&self) -> bool {
        true
    }

    unsafe fn unlock_shared(&self) {}

    fn lock_exclusive(&self) {}

    fn try_lock_exclusive(&self) -> bool {
        true
    }

    unsafe fn unlock_exclusive(&self) {}
}
