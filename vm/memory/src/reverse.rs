//! From a page to the places that have it, without an entry for each mapping: an object finds its mappings, a mapping or a private page
//! its family, the family its spaces, and in each of these the slot of the page is looked at.
//!
//! Who wants to take a page away makes it busy, and then locks the slot of each place, whether there is a translation or not, for a
//! moment. A fault has its slot locked from before it looks at the page's state until it has entered the translation. So of the two that
//! lock one slot the later one sees what the other did: either the fault finds the page busy, or this finds the translation.
//! That is why a fault on a resident page writes neither the page nor its object; why an object's page stays in its place while
//! a slot from which it was found is locked; and why that holds for pages that have been copied from.
//!
//! Locks: first that of the object's mappings `[o]`, then that of a family `[f]`, then slots, for which nobody waits here: if one is taken, all
//! locks are given up and the visit begins again.

use crate::address::{PageRange, VirtualPage};
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::cpu_set::CpuSet;
use crate::family::Member;
use crate::machine::{Flush, FrameSource, Machine, SpaceId};
use crate::memory::Cpu;
use crate::object::mapping::Mapping;
use crate::object::pager::{HeldHome, Hold};
use crate::page_record::Home;
use crate::page_word::{PageState, PageStep};
use crate::pmap::{Pmap, Translation};
use crate::primitive::relax;
use crate::space::SpaceBody;
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use core::ptr;

/// Translations that were taken away and that TLBs may still have: a few spaces, each with a range of pages.
#[derive(Debug)]
pub(crate) struct Shots {
    /// From the front, without a gap.
    spaces: [Shot; MOST_SPACES],
}

type Shot = Option<(SpaceId, CpuSet, PageRange)>;

/// Few, because they lie on the stack.
const MOST_SPACES: usize = 8;

impl Shots {
    pub(crate) fn none() -> Self {
        Self { spaces: [None; MOST_SPACES] }
    }
}

/// What translations said about a page.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Use {
    pub(crate) accessed: bool,
    pub(crate) dirty: bool,
}

impl Use {
    fn add(&mut self, said: &Translation) {
        self.accessed |= said.accessed;
        self.dirty |= said.dirty;
    }
}

/// A place that has a page: a slot, which is locked, of a space that is active here.
struct Place<'a, 'm, M: Machine> {
    space: &'a SpaceBody<'m, M>,
    slot: &'a Slot,
    mapped: Mapped,
    page: VirtualPage,
}

/// A slot was taken by another CPU.
struct Taken;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Makes a page busy, and owns it and keeps its home from now on. None if it cannot be held now. `allows`: whether to, by the
    /// state.
    pub(crate) fn hold(&self, page: u32, allows: impl Fn(PageState) -> bool) -> Option<Hold> {
        let record = self.record(page);
        let before = record.word.step(PageStep::Busy).ok()?;
        let (home, place) = record.home();
        // SAFETY: the page has an owner, which cannot give it up while it is busy, and that owner keeps the home. If the home has
        // no owner of its own any more, it is about to end, and waits for the page.
        let home = (before.is_valid() && allows(before)).then(|| unsafe {
            match home {
                Home::Object(object) => Counted::if_owned(object).map(HeldHome::Object),
                Home::Family(family) => Counted::if_owned(family).map(HeldHome::Family),
            }
        });
        match home.flatten() {
            Some(home) if record.word.step(PageStep::Transfer).is_ok() => Some(Hold { page, home, place }),
            _ => {
                self.let_go(page, PageStep::Unbusy);
                None
            }
        }
    }

    /// Takes all translations of a held page away, and says what they said. TLBs have them until the shots are made.
    pub(crate) fn take_translations(&self, hold: &Hold, shots: &mut Shots) -> Use {
        let mut said = Use::default();
        self.visit(&hold.home, hold.place, &mut |place| {
            let users = place.mapped.users;
            if users.is_none() || !place.has(hold) {
                return;
            }
            // The slot keeps saying that there is one: it is, in TLBs.
            let (mut tables, mut losers) = (Default::default(), CpuSet::NONE);
            if place.mapped.large {
                self.divide(place.space, place.page, users);
            }
            let removed = self.remove_translations(place.space, place.page, users, &mut tables, &mut losers);
            removed.iter().for_each(|removed| said.add(removed));
            self.add_shot(place.space, PageRange::of(place.page), &losers, shots);
            if !M::Pmap::is_empty(&tables) {
                // The space may be gone by the end.
                self.fire(shots);
                place.space.free_answered_tables(tables);
            }
        });
        said
    }

    /// What translations of a page said since the last time.
    pub(crate) fn harvest(&self, hold: &Hold) -> Use {
        let mut said = Use::default();
        self.visit(&hold.home, hold.place, &mut |place| {
            let users = place.mapped.users;
            if users.is_none() || !place.has(hold) {
                return;
            }
            let large = if place.mapped.large { self.harvest_large(place.space, place.page, users) } else { None };
            if let Some(found) = large.or_else(|| self.harvest_translations(place.space, place.page, users)) {
                said.add(&found);
            }
        });
        said
    }

    /// Takes the wires away that slots have of a held page of an object.
    pub(crate) fn take_wires(&self, hold: &Hold) {
        self.visit(&hold.home, hold.place, &mut |place| {
            if place.mapped.content == Content::Kept(hold.page) {
                let mut mapped = place.mapped;
                self.unwire(&mut mapped);
                place.slot.set(View::Mapped(mapped));
            }
        });
    }

    /// Whether the contents of a held page may be taken without being kept: one slot has it, and has given it up. Stays so until the page is
    /// let go, unless that slot shares it or gives it back: nobody writes to it meanwhile.
    pub(crate) fn is_given_up(&self, hold: &Hold) -> bool {
        let mut is_given_up = false;
        self.visit(&hold.home, hold.place, &mut |place| is_given_up |= self.may_drop(place, hold));
        is_given_up
    }

    /// Takes a held page that is translated nowhere from the slot that has given it up. False if there is none.
    pub(crate) fn drop_given_up(&self, hold: &Hold) -> bool {
        let mut is_dropped = false;
        self.visit(&hold.home, hold.place, &mut |place| {
            if self.may_drop(place, hold) {
                place.slot.set(View::Mapped(place.mapped.emptied()));
                // The holder is an owner, too.
                self.release_now(hold.page);
                is_dropped = true;
            }
        });
        is_dropped
    }

    fn may_drop(&self, place: &Place<'_, 'm, M>, hold: &Hold) -> bool {
        // The slot and the holder: while the slot is locked, nobody else becomes an owner.
        place.mapped.marks.has(Marks::GIVEN_UP) && place.has(hold) && self.word(hold.page).state().owners() == 2
    }

    /// Puts a slot of the swap area into all places that have a held private page, which is translated nowhere.
    pub(crate) fn swap_out(&self, hold: &Hold, swapped: u32) {
        let Some(area) = self.swap() else { return };
        self.visit(&hold.home, hold.place, &mut |place| {
            if place.has(hold) {
                area.share(swapped);
                let content = Content::Swapped(swapped);
                place.slot.set(View::Mapped(Mapped { content, ..place.mapped.untranslated() }));
                // The holder is an owner, too.
                self.release_now(hold.page);
            }
        });
    }

    /// Calls `act` with each place where a page may be, more than once with some if CPUs have slots. `act` does not unlock the slot.
    fn visit(&self, home: &HeldHome, place: u64, act: &mut dyn FnMut(&Place<'_, 'm, M>)) {
        loop {
            let taken = match home {
                HeldHome::Family(family) => {
                    family.get().visit(|member| self.visit_space(member, place, ptr::null(), act).err())
                }
                HeldHome::Object(object) => object.get().mappings().of_page(place, |mapping, link| {
                    let page = place.wrapping_sub(mapping.shift);
                    mapping.family.get().visit(|member| self.visit_space(member, page, link, act).err())
                }),
            };
            if taken.is_none() {
                return;
            }
            self.count(Event::Wait);
            relax();
        }
    }

    /// A space, whose family is locked. `mapping`: that of an object's page; null for private pages, which any mapping may have.
    fn visit_space(
        &self,
        member: *const Member,
        page: u64,
        mapping: *const Inner<Mapping>,
        act: &mut dyn FnMut(&Place<'_, 'm, M>),
    ) -> Result<(), Taken> {
        // SAFETY: a member of a locked family of this memory.
        let space = unsafe { SpaceBody::<M>::of(member) };
        let was_active = space.active.has(self.number);
        if !was_active {
            // So that nodes are not freed which this CPU walks.
            space.active.enter(self.number);
        }
        // SAFETY: the guard is held, and the space is active. A node that has a slot which this CPU has locked is not taken out.
        let slot = self.pinned(|| unsafe { space.tree.try_lock_covering(page) });
        if let Some(slot) = slot {
            if let View::Mapped(mapped) = slot.load().view()
                && (mapping.is_null() || ptr::eq(slot.mapping(), mapping))
            {
                act(&Place { space, slot, mapped, page: VirtualPage(page) });
            }
            slot.unlock();
        }
        if !was_active {
            space.active.leave(self.number);
        }
        slot.map(drop).ok_or(Taken)
    }

    /// Notes that TLBs may have a translation that was taken away.
    fn add_shot(&self, space: &SpaceBody<'m, M>, pages: PageRange, losers: &CpuSet, shots: &mut Shots) {
        self.machine().flush(self.number, &Flush { space: space.id, pages });
        let cpus = space.active.others_than(self.number, losers);
        if cpus.is_empty() {
            return self.count(Event::LocalFlush);
        }
        let is_its = |shot: &Shot| shot.as_ref().is_none_or(|(id, ..)| *id == space.id);
        let place = match shots.spaces.iter().position(is_its) {
            Some(place) => place,
            None => {
                self.fire(shots);
                0
            }
        };
        let (_, others, range) = shots.spaces[place].get_or_insert((space.id, cpus, pages));
        (*others, *range) = (others.with(&cpus), range.with(pages));
    }

    /// Waits until no TLB has any of these translations.
    pub(crate) fn fire(&self, shots: &mut Shots) {
        for (space, cpus, pages) in shots.spaces.iter_mut().filter_map(Option::take) {
            self.count(Event::ShootDown);
            self.add(Event::ShotCpu, cpus.len());
            self.machine().shoot(&cpus, &Flush { space, pages });
        }
    }
}

impl<M: Machine> Place<'_, '_, M> {
    /// Whether it is the page's: not a private copy of it.
    fn has(&self, hold: &Hold) -> bool {
        match hold.home {
            HeldHome::Object(_) => {
                matches!(self.mapped.content, Content::Nothing) || self.mapped.content == Content::Kept(hold.page)
            }
            HeldHome::Family(_) => self.mapped.content == Content::Page(hold.page),
        }
    }
}
