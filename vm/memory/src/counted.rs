//! Values with a count of owners, which a word can hold. As `Arc`, but its allocation may fail, and the last owner gets the
//! value back instead of dropping it: what it holds can be freed only with a CPU's frames at hand.

use crate::allocation::try_box_with;
use crate::error::NoMemory;
use crate::primitive::{AtomicUsize, fence};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What the pointers point to. On lines of its own: its owners' count is written by forks and changes of one space, beside which
/// an allocator may place another's. The count is behind the value: what of a value is only read can be on another line, at its beginning.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Inner<T> {
    value: T,
    owners: AtomicUsize,
}

/// One owner's reference.
#[derive(Debug)]
pub(crate) struct Counted<T>(NonNull<Inner<T>>);

// SAFETY: 1. Owners on several threads only get `&T`, so `T: Sync`. 2. The last one takes the value, wherever it runs, so
// `T: Send`.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: as above: a shared reference can be shared further.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> Inner<T> {
    /// For who knows that it is there.
    pub(crate) fn value(&self) -> &T {
        &self.value
    }
}

impl<T> Counted<T> {
    /// A value with one owner.
    pub(crate) fn try_new(value: T) -> Result<Self, NoMemory> {
        Self::try_with(|| value)
    }

    /// The same; the value is made when there is room for it.
    pub(crate) fn try_with(make: impl FnOnce() -> T) -> Result<Self, NoMemory> {
        let inner = try_box_with(|| Inner { value: make(), owners: AtomicUsize::new(1) })?;
        Ok(Self(NonNull::from(Box::leak(inner))))
    }

    pub(crate) fn get(&self) -> &T {
        // SAFETY: this reference is one of the owners, so the value is there.
        unsafe { &self.0.as_ref().value }
    }

    /// The owner that a word was.
    ///
    /// # Safety
    /// `raw` comes from `share`, is not null, and one owner's share of it is handed over.
    pub(crate) unsafe fn from_raw(raw: *mut Inner<T>) -> Self {
        // SAFETY: not null, as the caller promises.
        Self(unsafe { NonNull::new_unchecked(raw) })
    }

    /// Adds owners, which the caller keeps as pointers.
    pub(crate) fn share(&self, owners: usize) -> *mut Inner<T> {
        // Relaxed: as in `Arc`: whoever adds an owner is one, and hands the new one over by other means. The count cannot
        // overflow: each owner is a pointer in memory.
        // SAFETY: this reference is one of the owners.
        unsafe { self.0.as_ref() }.owners.fetch_add(owners, Relaxed);
        self.0.as_ptr()
    }

    /// The owner that a pointer is, without a count of its own, if there is still one.
    ///
    /// # Safety
    /// `raw` points to a value that is not freed meanwhile: it may be that its last owner is about to end it.
    pub(crate) unsafe fn if_owned(raw: *const Inner<T>) -> Option<Self> {
        // SAFETY: as the caller promises.
        let owners = unsafe { &(*raw).owners };
        // Relaxed: as in `share`; the count is not raised from 0, so whoever ends the value is alone.
        let mut count = owners.load(Relaxed);
        while count > 0 {
            match owners.compare_exchange_weak(count, count + 1, Relaxed, Relaxed) {
                Ok(_) => return NonNull::new(raw.cast_mut()).map(Self),
                Err(found) => count = found,
            }
        }
        None
    }

    /// The reference without a share: it must not be released.
    pub(crate) fn alias(&self) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self(self.0))
    }

    /// As `release_after(1, before)`, but if there are `count` owners and `holds` says so, nothing is changed, and the reference is handed back.
    pub(crate) fn release_unless(
        self,
        count: usize,
        holds: impl Fn(&T) -> bool,
        before: impl FnOnce(*const Inner<T>),
    ) -> Result<Option<T>, Self> {
        // SAFETY: this reference is one of the owners.
        let owners = unsafe { &self.0.as_ref().owners };
        // Relaxed: the compare-and-swap checks it.
        let mut found = owners.load(Relaxed);
        // One is the last, which `release_after` takes.
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

    /// The value, for the only owner.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: this reference is one of the owners.
        let inner = unsafe { self.0.as_mut() };
        // Acquire: pairs with the release in `release_after`: what other owners did comes before.
        (inner.owners.load(Acquire) == 1).then_some(&mut inner.value)
    }

    /// Where it is. Nobody's share.
    pub(crate) fn as_ptr(&self) -> *const Inner<T> {
        self.0.as_ptr()
    }

    /// Another owner.
    pub(crate) fn another(&self) -> Self {
        let raw = self.share(1);
        // SAFETY: the owner that was just added.
        unsafe { Self::from_raw(raw) }
    }

    /// Removes `owners` owners, this reference among them. The last one gets the value.
    pub(crate) fn release(self, owners: usize) -> Option<T> {
        self.release_after(owners, |_| {})
    }

    /// As `release`. `before` is called by the last owner, while the value is where it was.
    pub(crate) fn release_after(self, owners: usize, before: impl FnOnce(*const Inner<T>)) -> Option<T> {
        // Release: what this owner did with the value comes before the last owner takes it: pairs with the fence.
        // SAFETY: this reference is one of the owners.
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
        // SAFETY: it is there.
        let fourth = unsafe { Counted::if_owned(second.as_ptr()) }.unwrap();
        assert_eq!(second.release(1), None);
        let mut before = (0, true);
        let look = |inner: *const Inner<i32>| {
            // SAFETY: the last owner has not freed it yet, when it is asked.
            before = unsafe { (*(*inner).value(), Counted::if_owned(inner).is_some()) };
        };
        assert_eq!((fourth.release_after(1, look), before), (Some(5), (5, false)), "the last owner is alone");
    }
}
