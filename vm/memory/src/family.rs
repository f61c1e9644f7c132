//! Families: spaces that descend from one another by forks. A private page is in spaces of one
//! family, at the same virtual page in each, so a list of spaces finds all owners of a page without
//! an entry per mapping.
//!
//! Objects are mapped by families too. A child forked with twenty objects joins its family once,
//! and no object.

use crate::primitive::Spin;
use core::cell::Cell;
use core::ptr;

/// A space's place in its family, on a line of its own: forks and exits of relatives write it.
/// Fields: \[f] protected by the family's lock.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Member {
    /// \[f]
    next: Cell<*const Member>,
    /// \[f]
    before: Cell<*const Member>,
}

impl Member {
    pub(crate) fn new() -> Self {
        Self { next: Cell::new(ptr::null()), before: Cell::new(ptr::null()) }
    }
}

/// A family. The holder of its lock never waits for a slot: a CPU that holds slots may be waiting
/// for the index of an object, which a visit of families keeps locked.
#[derive(Debug)]
pub(crate) struct Family {
    /// The first member.
    members: Spin<*const Member>,
}

// SAFETY: members are shared: the list's pointers change under its lock only, and a member leaves
// before it ends.
unsafe impl Send for Family {}
// SAFETY: as above.
unsafe impl Sync for Family {}

impl Family {
    pub(crate) fn new() -> Self {
        Self { members: Spin::new(ptr::null()) }
    }

    /// Adds a member: behind another, or as the first if `behind` is null.
    ///
    /// # Safety
    /// 1. The member does not move until it has left.
    /// 2. `behind` has joined this family, and has not left.
    pub(crate) unsafe fn join(&self, member: *const Member, behind: *const Member) {
        let mut first = self.members.lock();
        // SAFETY: 1. As the caller promises. 2. Members of the list are alive, and their links are
        // protected by this lock.
        unsafe {
            let next = behind.as_ref().map_or(*first, |behind| behind.next.get());
            (*member).before.set(behind);
            (*member).next.set(next);
            if let Some(next) = next.as_ref() {
                next.before.set(member);
            }
            match behind.as_ref() {
                Some(behind) => behind.next.set(member),
                None => *first = member,
            }
        }
    }

    /// Removes a member. No visit that has met it is still running afterwards.
    ///
    /// # Safety
    /// The member has joined this family, and has not left.
    pub(crate) unsafe fn leave(&self, member: *const Member) {
        let mut first = self.members.lock();
        // SAFETY: as in `join`.
        unsafe {
            let (before, next) = ((*member).before.get(), (*member).next.get());
            if let Some(next) = next.as_ref() {
                next.before.set(before);
            }
            match before.as_ref() {
                Some(before) => before.next.set(next),
                None => *first = next,
            }
        }
    }

    /// Calls `act` while no visit runs.
    pub(crate) fn locked<R>(&self, act: impl FnOnce() -> R) -> R {
        let _members = self.members.lock();
        act()
    }

    /// Calls `act` with each member, under the lock, until it returns `Some`.
    pub(crate) fn visit<R>(&self, mut act: impl FnMut(*const Member) -> Option<R>) -> Option<R> {
        let first = self.members.lock();
        let mut member = *first;
        while !member.is_null() {
            let result = act(member);
            if result.is_some() {
                return result;
            }
            // SAFETY: as in `join`.
            member = unsafe { (*member).next.get() };
        }
        None
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn members(family: &Family) -> Vec<*const Member> {
        let mut found = Vec::new();
        assert!(
            family
                .visit(|member| -> Option<()> {
                    found.push(member);
                    None
                })
                .is_none()
        );
        found
    }

    #[test]
    fn members_come_and_go_in_any_order() {
        let spaces: [Member; 3] = core::array::from_fn(|_| Member::new());
        let [first, second, third] = [0, 1, 2].map(|index| &raw const spaces[index]);
        for order in [[first, second, third], [second, third, first], [third, first, second], [second, first, third]] {
            let family = Family::new();
            // SAFETY: members do not move.
            [first, second, third].into_iter().for_each(|member| unsafe { family.join(member, ptr::null()) });
            assert_eq!(members(&family), [third, second, first]);
            assert_eq!(family.visit(|member| (member == second).then_some(7)), Some(7));
            for (left, member) in (0..3).rev().zip(order) {
                // SAFETY: each has joined, and leaves once.
                unsafe { family.leave(member) };
                assert!(members(&family).len() == left && !members(&family).contains(&member));
            }
        }
    }

    #[test]
    fn a_child_is_visited_right_behind_its_parent() {
        let spaces: [Member; 4] = core::array::from_fn(|_| Member::new());
        let [other, parent, first, second] = [0, 1, 2, 3].map(|index| &raw const spaces[index]);
        let family = Family::new();
        for (member, behind) in [(other, ptr::null()), (parent, ptr::null()), (first, parent), (second, first)] {
            // SAFETY: 1. Members do not move. 2. Each joins behind one that has joined.
            unsafe { family.join(member, behind) };
        }
        assert_eq!(members(&family), [parent, first, second, other]);
        // SAFETY: it has joined, and leaves once.
        unsafe { family.leave(first) };
        assert_eq!(members(&family), [parent, second, other]);
    }
}
