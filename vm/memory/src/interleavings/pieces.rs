//! Protocols for taking pages away, reduced to their parts.

use super::explore;
use crate::counted::{Counted, Inner};
use crate::object::{Backing, Leaf, Object};
use crate::page_word::{PageStep, PageWord};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A home's contents: ended by its last owner, read by the holder of one of its pages.
#[derive(Debug)]
struct Home {
    is_ended: UnsafeCell<bool>,
}

// SAFETY: loom reports an access that is not ordered.
unsafe impl Sync for Home {}
// SAFETY: as above.
unsafe impl Send for Home {}

impl Home {
    fn end(&self) {
        // SAFETY: the last owner.
        self.is_ended.with_mut(|is_ended| unsafe { *is_ended = true });
    }

    fn is_ended(&self) -> bool {
        // SAFETY: an owner.
        self.is_ended.with(|is_ended| unsafe { *is_ended })
    }
}

/// A pointer to a home, as a record has it.
#[derive(Clone, Copy)]
struct Raw(*const Inner<Home>);

// SAFETY: as for `Home`.
unsafe impl Send for Raw {}

/// A page's home ends, while another CPU makes the page busy, wants the home, and then owns the
/// page. It gets both or neither; and the frame is freed once.
#[test]
fn a_hold_and_the_end_of_the_home() {
    explore(|| {
        let home = Counted::try_new(Home { is_ended: UnsafeCell::new(false) }).unwrap();
        let word = Arc::new(PageWord::new());
        word.step(PageStep::Claim).unwrap();
        word.step(PageStep::Filled).unwrap();
        let end = |home: Counted<Home>, word: &PageWord| {
            let mut is_free = false;
            let ended = home.release_after(1, |home| {
                // SAFETY: it is freed after this.
                unsafe { (*home).value() }.end();
                is_free = word.release().unwrap();
            });
            (ended.is_some(), is_free)
        };
        let (raw, its) = (Raw(home.as_ptr()), word.clone());
        let other = thread::spawn(move || {
            let raw = raw;
            if its.step(PageStep::Busy).is_err() {
                return (false, false);
            }
            // SAFETY: the page is busy, so its owner waits before the home is freed.
            let Some(held) = (unsafe { Counted::if_owned(raw.0) }) else {
                its.step(PageStep::Unbusy).expect("its owner waits");
                return (false, false);
            };
            its.step(PageStep::Transfer).unwrap();
            assert!(!held.get().is_ended(), "an owner keeps it");
            let is_free = its.let_go(PageStep::Unbusy);
            assert_eq!(is_free, Ok(false), "the home owns it, too");
            end(held, &its)
        });
        let (mine, its) = (end(home, &word), other.join().unwrap());
        assert!(mine.0 != its.0, "one ends the home: {mine:?} {its:?}");
        assert!(mine.1 != its.1, "the frame is free once: {mine:?} {its:?}");
    });
}

/// A page is published while its object is truncated: either the publisher finds the new length, or
/// the truncation finds the page.
#[test]
fn a_publication_and_a_new_length() {
    explore(|| {
        let object = Arc::new(Object::try_new(2, Backing::Zeroes).unwrap());
        let its = object.clone();
        let other = thread::spawn(move || its.publish(1, Leaf::Nothing, 7) == Ok(Ok(true)));
        object.set_pages(1);
        let is_found = object.next_held(1, 2).is_some();
        assert!(is_found || !other.join().unwrap(), "a page beyond the end was not found");
    });
}

/// A page that is being read is released by its only owner, while the read ends: the later one
/// frees the frame, once.
#[test]
fn the_end_of_a_read_and_the_last_owner() {
    for end in [PageStep::Filled, PageStep::Failed] {
        explore(move || {
            let word = Arc::new(PageWord::new());
            word.step(PageStep::Claim).unwrap();
            word.step(PageStep::Transfer).unwrap();
            let its = word.clone();
            let other = thread::spawn(move || its.let_go(end));
            let mine = word.release();
            assert!(mine.is_ok() && mine != other.join().unwrap(), "the frame is free once");
            assert_eq!(word.state(), crate::page_word::PageState::FREE);
        });
    }
}

/// A page that could not be read is released, while another CPU checks whether it may hold it: the
/// frame is not freed before that check.
#[test]
fn a_failed_page_and_who_wants_to_hold_it() {
    explore(|| {
        let word = Arc::new(PageWord::new());
        word.step(PageStep::Claim).unwrap();
        word.step(PageStep::Failed).unwrap();
        let its = word.clone();
        let other = thread::spawn(move || {
            if its.step(PageStep::Busy).is_ok() {
                its.step(PageStep::Unbusy).expect("only this thread has it busy");
            }
        });
        assert_eq!(word.release(), Ok(true));
        // The frame is another page's.
        word.step(PageStep::Claim).unwrap();
        word.step(PageStep::Filled).unwrap();
        let is_mine = word.step(PageStep::Busy).is_ok();
        other.join().unwrap();
        assert_eq!(word.state().is_busy(), is_mine, "who holds it lets it go");
    });
}
