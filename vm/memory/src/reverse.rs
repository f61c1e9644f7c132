//! The reverse map: from a page to its places, without an entry per mapping. An object finds its
//! mappings, a mapping or a private page its family, the family its spaces; in each space the slot
//! of the page is checked.
//!
//! To take a page away, a CPU makes it busy and then briefly locks the slot of each place, with or
//! without a translation. A fault holds its slot from before it looks at the page's state until it
//! has entered the translation. So of two CPUs that lock one slot, the later one sees the other's
//! action: either the fault finds the page busy, or the reverse map finds the translation.
//! Therefore a fault on a resident page writes neither the page nor its object; and an object's
//! page stays in place while a slot from which it was found is locked, as does a page that was
//! copied from.
//!
//! Lock order: the object's mappings `[o]`, then a family `[f]`, then slots, which are never waited
//! for here: if one is taken, all locks are released and the visit begins again.

use crate::address::{PageRange, VirtualPage};
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::cpu_set::CpuSet;
use crate::family::Member;
use crate::machine::{Flush, FrameSource, Machine, Pmap, Translation};
use crate::memory::Cpu;
use crate::object::mapping::Mapping;
use crate::object::pager::{HeldHome, Hold};
use crate::page_record::Home;
use crate::page_word::{PageState, PageStep};
use crate::primitive::relax;
use crate::space::SpaceBody;
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use core::ptr;

/// Removed translations that TLBs may still have: a few spaces, each with a range of pages.
#[derive(Debug)]
pub(crate) struct Shots {
    /// From the front, without a gap.
    spaces: [Shot; MOST_SPACES],
}

type Shot = Option<(Flush, CpuSet)>;

/// Few, because they are on the stack.
const MOST_SPACES: usize = 8;

impl Shots {
    pub(crate) fn none() -> Self {
        Self { spaces: [None; MOST_SPACES] }
    }
}

/// Accessed and dirty bits of a page's translations.
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

/// A place of a page: a locked slot of a space that is active here.
struct LockedPlace<'a, 'm, M: Machine> {
    space: &'a SpaceBody<'m, M>,
    slot: &'a Slot,
    mapped: Mapped,
    page: VirtualPage,
}

/// Another CPU holds a slot.
struct Taken;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Makes a page busy, owns it, and keeps its home alive. `None` if that is impossible now.
    /// `allows`: decides by the page's state.
    pub(crate) fn hold(&self, page: u32, allows: impl Fn(PageState) -> bool) -> Option<Hold> {
        let record = self.record(page);
        let before = record.word.step(PageStep::Busy).ok()?;
        let (home, place) = record.home();
        // SAFETY: the page has an owner, which cannot release it while it is busy, and that owner
        // keeps the home. If the home has no owner of its own any more, it is about to end, and
        // waits for the page.
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

    /// Removes all translations of a held page, and returns their bits. TLBs have them until the
    /// shots are fired.
    pub(crate) fn take_translations(&self, hold: &Hold, shots: &mut Shots) -> Use {
        let mut said = Use::default();
        self.visit(&hold.home, hold.place, &mut |place| {
            let users = place.mapped.users;
            if users.is_none() || !place.has(hold) {
                return;
            }
            // The slot keeps its users: TLBs still have the translation.
            let (mut tables, mut losers) = (Default::default(), CpuSet::NONE);
            if place.mapped.large {
                self.divide(place.space, place.page, users);
            }
            let removed = self.remove_translations(place.space, place.page, users, &mut tables, &mut losers);
            removed.iter().for_each(|removed| said.add(removed));
            let frees_tables = !M::Pmap::is_empty(&tables);
            let flush = Flush { space: place.space.id, pages: PageRange::of(place.page), frees_tables };
            self.add_shot(place.space, flush, &losers, shots);
            if frees_tables {
                // The space may be gone by the end.
                self.fire(shots);
                place.space.free_answered_tables(tables);
            }
        });
        said
    }

    /// Accessed and dirty bits of a page's translations since the last call.
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

    /// Removes the wires that slots have on a held page of an object.
    pub(crate) fn take_wires(&self, hold: &Hold) {
        self.visit(&hold.home, hold.place, &mut |place| {
            if place.mapped.content == Content::Kept(hold.page) {
                let mut mapped = place.mapped;
                self.unwire(&mut mapped);
                place.slot.set(View::Mapped(mapped));
            }
        });
    }

    /// True if the contents of a held page may be dropped: one slot has it, and has given it up.
    /// Stays true until exclusive use ends, unless that slot shares or frees it: no CPU writes to
    /// it meanwhile.
    pub(crate) fn is_given_up(&self, hold: &Hold) -> bool {
        let mut is_given_up = false;
        self.visit(&hold.home, hold.place, &mut |place| is_given_up |= self.may_drop(place, hold));
        is_given_up
    }

    /// Removes a held page that is translated nowhere from the slot that has given it up. False if
    /// there is none.
    pub(crate) fn drop_given_up(&self, hold: &Hold) -> bool {
        let mut is_dropped = false;
        self.visit(&hold.home, hold.place, &mut |place| {
            if self.may_drop(place, hold) {
                place.slot.set(View::Mapped(place.mapped.emptied()));
                // The holder is an owner too.
                self.release_now(hold.page);
                is_dropped = true;
            }
        });
        is_dropped
    }

    fn may_drop(&self, place: &LockedPlace<'_, 'm, M>, hold: &Hold) -> bool {
        // Owners: the slot and the holder. While the slot is locked, no other can be added.
        place.mapped.marks.has(Marks::GIVEN_UP) && place.has(hold) && self.word(hold.page).state().owners() == 2
    }

    /// Puts a swap slot into all places of a held private page that is translated nowhere.
    pub(crate) fn swap_out(&self, hold: &Hold, swapped: u32) {
        self.visit(&hold.home, hold.place, &mut |place| {
            if place.has(hold) {
                self.share_swap(swapped);
                let content = Content::Swapped(swapped);
                place.slot.set(View::Mapped(Mapped { content, ..place.mapped.untranslated() }));
                // The holder is an owner too.
                self.release_now(hold.page);
            }
        });
    }

    /// Calls `act` with each possible place of a page; more than once for some if other CPUs hold
    /// slots. `act` does not unlock the slot.
    fn visit(&self, home: &HeldHome, place: u64, act: &mut dyn FnMut(&LockedPlace<'_, 'm, M>)) {
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

    /// Visits a space, whose family is locked. `mapping`: that of an object's page; null for
    /// private pages, which have any mapping.
    fn visit_space(
        &self,
        member: *const Member,
        page: u64,
        mapping: *const Inner<Mapping>,
        act: &mut dyn FnMut(&LockedPlace<'_, 'm, M>),
    ) -> Result<(), Taken> {
        // SAFETY: a member of a locked family of this memory.
        let space = unsafe { SpaceBody::<M>::of(member) };
        let was_active = space.active.has(self.number);
        if !was_active {
            // Keeps alive the nodes that this CPU walks.
            space.active.enter(self.number);
        }
        // SAFETY: the guard is held, and the space is active. A node that has a slot which this CPU
        // has locked is not taken out.
        let slot = self.pinned(|| unsafe { space.tree.try_lock_covering(page) });
        if let Some(slot) = slot {
            if let View::Mapped(mapped) = slot.load().view()
                && (mapping.is_null() || ptr::eq(slot.mapping(), mapping))
            {
                act(&LockedPlace { space, slot, mapped, page: VirtualPage(page) });
            }
            slot.unlock();
        }
        if !was_active {
            space.active.leave(self.number);
        }
        slot.map(drop).ok_or(Taken)
    }

    /// Records that TLBs may have a removed translation.
    fn add_shot(&self, space: &SpaceBody<'m, M>, flush: Flush, losers: &CpuSet, shots: &mut Shots) {
        self.machine().flush(self.number, &flush);
        let cpus = space.active.others_than(self.number, losers);
        if cpus.is_empty() {
            return self.count(Event::LocalFlush);
        }
        let is_its = |shot: &Shot| shot.as_ref().is_none_or(|(its, _)| its.space == flush.space);
        let place = match shots.spaces.iter().position(is_its) {
            Some(place) => place,
            None => {
                self.fire(shots);
                0
            }
        };
        let Some(shot) = shots.spaces.get_mut(place) else { return };
        let (all, others) = shot.get_or_insert((flush, cpus));
        (all.pages, all.frees_tables) = (all.pages.with(flush.pages), all.frees_tables || flush.frees_tables);
        *others = others.with(&cpus);
    }

    /// Waits until no TLB has any of these translations.
    pub(crate) fn fire(&self, shots: &mut Shots) {
        for (flush, cpus) in shots.spaces.iter_mut().filter_map(Option::take) {
            self.count(Event::ShootDown);
            self.add(Event::ShotCpu, cpus.len());
            self.machine().shoot(&cpus, &flush);
        }
    }
}

impl<M: Machine> LockedPlace<'_, '_, M> {
    /// True if this place has the held page itself, not a private copy.
    fn has(&self, hold: &Hold) -> bool {
        match hold.home {
            HeldHome::Object(_) => {
                matches!(self.mapped.content, Content::Nothing) || self.mapped.content == Content::Kept(hold.page)
            }
            HeldHome::Family(_) => self.mapped.content == Content::Page(hold.page),
        }
    }
}
