//! Values with an owner count, whose pointer fits in a word. Unlike `Arc`, allocation may fail, and
//! the last owner gets the value back instead of dropping it: freeing its contents needs a CPU's
//! frames.

use crate::error::NoMemory;
use crate::primitive::{AtomicUsize, fence, try_box_with};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Pointee, on lines of its own: forks and changes of one space write the owner count, and an
/// allocator may place other data beside it. The count follows the value, so a value's read-only
/// start can be on another line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Inner<T> {
    value: T,
    owners: AtomicUsize,
}

/// An owner's reference.
#[derive(Debug)]
pub(crate) struct Counted<T>(NonNull<Inner<T>>);

// SAFETY: 1. Owners on several threads only get `&T`, so `T: Sync`. 2. The last one takes the
// value, wherever it runs, so `T: Send`.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: as above: a shared reference can be shared further.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> Inner<T> {
    /// The value, for callers that know that it is alive.
    pub(crate) fn value(&self) -> &T {
        &self.value
    }
}

impl<T> Counted<T> {
    /// A value with one owner.
    pub(crate) fn try_new(value: T) -> Result<Self, NoMemory> {
        Self::try_with(|| value)
    }

    /// As `try_new`; makes the value only after the allocation succeeded.
    pub(crate) fn try_with(make: impl FnOnce() -> T) -> Result<Self, NoMemory> {
        let inner = try_box_with(|| Inner { value: make(), owners: AtomicUsize::new(1) })?;
        Ok(Self(NonNull::from(Box::leak(inner))))
    }

    pub(crate) fn get(&self) -> &T {
        // SAFETY: this reference is an owner, so the value is alive.
        unsafe { &self.0.as_ref().value }
    }

    /// The owner that a word holds.
    ///
    /// # Safety
    /// `raw` comes from `share`, is not null, and the caller hands over one owner's share.
    pub(crate) unsafe fn from_raw(raw: *mut Inner<T>) -> Self {
        // SAFETY: not null, as the caller promises.
        Self(unsafe { NonNull::new_unchecked(raw) })
    }

    /// Adds owners, which the caller keeps as pointers.
    pub(crate) fn share(&self, owners: usize) -> *mut Inner<T> {
        // Relaxed: as in `Arc`: an owner adds another and hands it over by other means. The count
        // cannot overflow: each owner is a pointer in memory. SAFETY: this reference is an owner.
        unsafe { self.0.as_ref() }.owners.fetch_add(owners, Relaxed);
        self.0.as_ptr()
    }

    /// A new owner from an uncounted pointer, if the value still has an owner.
    ///
    /// # Safety
    /// The value `raw` points to is not freed meanwhile. Its last owner may be about to end it.
    pub(crate) unsafe fn if_owned(raw: *const Inner<T>) -> Option<Self> {
        // SAFETY: as the caller promises.
        let owners = unsafe { &(*raw).owners };
        // Relaxed: as in `share`; the count never rises from 0, so the last owner is alone.
        let mut count = owners.load(Relaxed);
        while count > 0 {
            match owners.compare_exchange_weak(count, count + 1, Relaxed, Relaxed) {
                Ok(_) => return NonNull::new(raw.cast_mut()).map(Self),
                Err(found) => count = found,
            }
        }
        None
    }

    /// A reference without a share: it must not be released.
    pub(crate) fn alias(&self) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self(self.0))
    }

    /// Like `release_after(1, before)`, except that with `count` owners and `holds` true it changes
    /// nothing and returns the reference.
    pub(crate) fn release_unless(
        self,
        count: usize,
        holds: impl Fn(&T) -> bool,
        before: impl FnOnce(*const Inner<T>),
    ) -> Result<Option<T>, Self> {
        // SAFETY: this reference is an owner.
        let owners = unsafe { &self.0.as_ref().owners };
        // Relaxed: the compare-and-swap checks it.
        let mut found = owners.load(Relaxed);
        // The last owner is left to `release_after`.
        while found > 1 {
            if found == count && holds(self.get()) {
                return Err(self);
            }
            // Release: as in `release_after`.
            match owners.compare_exchange_weak(found, found - 1, Release, Relaxed) {
                Ok(_) => return Ok(None),
                Err(other) => found = other,
            }
        }
        Ok(self.release_after(1, before))
    }

    /// The value, for its only owner.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: this reference is an owner.
        let inner = unsafe { self.0.as_mut() };
        // Acquire: pairs with the release in `release_after`: other owners' actions come before.
        (inner.owners.load(Acquire) == 1).then_some(&mut inner.value)
    }

    /// An uncounted pointer.
    pub(crate) fn as_ptr(&self) -> *const Inner<T> {
        self.0.as_ptr()
    }

    /// Another owner.
    pub(crate) fn another(&self) -> Self {
        let raw = self.share(1);
        // SAFETY: the owner that was just added.
        unsafe { Self::from_raw(raw) }
    }

    /// Removes `owners` owners, this reference among them. The last owner gets the value.
    pub(crate) fn release(self, owners: usize) -> Option<T> {
        self.release_after(owners, |_| {})
    }

    /// Like `release`. The last owner calls `before` while the value is still in place.
    pub(crate) fn release_after(self, owners: usize, before: impl FnOnce(*const Inner<T>)) -> Option<T> {
        // Release: this owner's use of the value comes before the last owner takes it: pairs with
        // the fence. SAFETY: this reference is an owner.
        if unsafe { self.0.as_ref() }.owners.fetch_sub(owners, Release) != owners {
            return None;
        }
        // Acquire: pairs with the other owners' decrements.
        fence(Acquire);
        before(self.as_ptr());
        // SAFETY: 1. It was made by `try_with`. 2. There is no other owner.
        Some(unsafe { Box::from_raw(self.0.as_ptr()) }.value)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_last_owner_gets_the_value() {
        let first = Counted::try_new(5).unwrap();
        let second = first.another();
        let third = first.share(2);
        assert_eq!(first.release(1), None);
        // SAFETY: one of the two owners of `share`.
        let third = unsafe { Counted::<i32>::from_raw(third) };
        assert_eq!((third.release(2), second.get()), (None, &5));
        // SAFETY: the value is alive.
        let fourth = unsafe { Counted::if_owned(second.as_ptr()) }.unwrap();
        assert_eq!(second.release(1), None);
        let mut before = (0, true);
        let look = |inner: *const Inner<i32>| {
            // SAFETY: the last owner has not freed the value yet.
            before = unsafe { (*(*inner).value(), Counted::if_owned(inner).is_some()) };
        };
        assert_eq!((fourth.release_after(1, look), before), (Some(5), (5, false)), "the last owner is alone");
    }
}
