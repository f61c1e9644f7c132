//! The page tables of a space: one set for all CPUs, or one for each, as the machine has it.
//!
//! With tables of its own a CPU translates by them alone. It takes a fault on each page that it uses, also if another CPU has used the page before;
//! in return a page's slot knows who did ([`Users`]), and nobody else is asked to forget the translation. So threads of one space that
//! use pages of their own write no common line, neither of page tables nor for shoot-downs. The idea is RadixVM's, in sv6.
//!
//! Whoever changes a page's translation has the page's slot, and changes it in the tables of each of its users, also of those on which the
//! space is not active now. Tables have a lock `[t]`, held for one entry's change, or while a large one is made or divided. It is for the tables' memory: one that is left without entries is
//! taken out with the lock held, so no other CPU is on its way through it, and when the CPU whose tables they are has answered a shoot-down it can be
//! freed. That CPU's hardware reads them without a lock.

use crate::address::{Rights, VirtualPage};
use crate::cpu_set::CpuSet;
use crate::error::NoMemory;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::own_tables::{Own, OwnPlace};
use crate::pmap::{Pmap, Translation};
use crate::space::SpaceBody;
use crate::users::Users;
use faultline_numbers::{CpuNumber, FrameNumber};

impl<'m, M: Machine> SpaceBody<'m, M> {
    /// The page tables by which a CPU translates: none if they are its own and the space was never active there.
    #[inline]
    pub(crate) fn pmap_of(&self, cpu: CpuNumber) -> Option<&M::Pmap> {
        match &self.shared {
            Some(shared) => Some(shared),
            None => self.own(cpu).map(|own| &own.pmap),
        }
    }

    /// Frees tables that were taken out of any of its page tables, after the CPUs that translate by them have answered.
    pub(crate) fn free_answered_tables(&self, tables: <M::Pmap as Pmap>::Retired) {
        let any = || (0..self.memory.cpus() as u32).find_map(|cpu| self.own(CpuNumber(cpu)).map(|own| &own.pmap));
        if !M::Pmap::is_empty(&tables)
            && let Some(pmap) = self.shared.as_ref().or_else(any)
        {
            pmap.free(tables);
        }
    }

    #[inline]
    fn own(&self, cpu: CpuNumber) -> Option<&Own<M::Pmap>> {
        self.active.part(cpu).and_then(OwnPlace::get)
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Page tables that all CPUs share, if the machine wants that.
    pub(crate) fn shared_tables(&self) -> Result<Option<M::Pmap>, NoMemory> {
        if self.machine().has_tables_of_each_cpu() { Ok(None) } else { self.machine().new_pmap().map(Some) }
    }

    /// Makes this CPU's page tables, if it is to have its own.
    pub(crate) fn make_tables(&self, space: &SpaceBody<'m, M>) -> Result<(), NoMemory> {
        match (&space.shared, space.active.part(self.number)) {
            (None, Some(place)) => place.make(|| self.machine().new_pmap()),
            _ => Ok(()),
        }
    }

    /// The CPUs that translate by the same page tables as this one.
    pub(crate) fn table_users(&self, space: &SpaceBody<'m, M>) -> CpuSet {
        if space.shared.is_some() { CpuSet::ALL } else { CpuSet::of(self.number) }
    }

    /// Calls `act` with this CPU's own page tables, or those that all share.
    #[inline(always)]
    pub(crate) fn with_tables<R>(&self, space: &SpaceBody<'m, M>, act: impl FnOnce(&M::Pmap) -> R) -> Option<R> {
        let _pinned = self.pin();
        if let Some(shared) = &space.shared {
            return Some(act(shared));
        }
        let own = space.own(self.number)?;
        let _locked = own.lock.lock();
        Some(act(&own.pmap))
    }

    /// Calls `act` with all page tables that may have a translation, and with the CPUs that translate by them.
    pub(crate) fn each_tables(&self, space: &SpaceBody<'m, M>, users: Users, mut act: impl FnMut(&M::Pmap, &CpuSet)) {
        if users.is_none() {
            return;
        }
        if let Some(shared) = &space.shared {
            let _pinned = self.pin();
            return act(shared, &CpuSet::ALL);
        }
        for cpu in users.among(self.memory.cpus() as u32) {
            if let Some(own) = space.own(cpu) {
                let _pinned = self.pin();
                let _locked = own.lock.lock();
                act(&own.pmap, &CpuSet::of(cpu));
            }
        }
    }

    /// This CPU's entry of a page, whose slot is locked.
    #[inline]
    pub(crate) fn translation(&self, space: &SpaceBody<'m, M>, page: VirtualPage, users: Users) -> Option<Translation> {
        let may_be = if space.shared.is_some() { !users.is_none() } else { users.may_be(self.number) };
        if may_be { self.with_tables(space, |pmap| pmap.query(page)).flatten() } else { None }
    }

    /// Makes an entry of a page, whose slot is locked, for this CPU, or adds rights to one. `users` are those that the slot says, and shall say.
    #[inline(always)]
    pub(crate) fn enter_translation(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        users: &mut Users,
    ) -> Result<(), NoMemory> {
        let mut tables = Default::default();
        let entered = self.with_tables(space, |pmap| pmap.enter(page, frame, rights, &mut tables));
        self.ask_and_free_tables(space, tables);
        entered.unwrap_or(Err(NoMemory))?;
        *users = users.with(self.number);
        Ok(())
    }

    /// Removes all entries of a page, whose slot is locked. Returns what they were, and adds those that had one, or may still have it in their TLBs,
    /// to `losers`.
    #[inline(never)]
    pub(crate) fn remove_translations(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        users: Users,
        tables: &mut <M::Pmap as Pmap>::Retired,
        losers: &mut CpuSet,
    ) -> Option<Translation> {
        self.change_all(space, users, losers, |pmap| pmap.remove(page, tables), |_| true)
    }

    /// Removes the large entries that begin at a page, if there are any. As `remove_translations`.
    pub(crate) fn remove_large_translations(
        &self,
        space: &SpaceBody<'m, M>,
        first: VirtualPage,
        users: Users,
        tables: &mut <M::Pmap as Pmap>::Retired,
        losers: &mut CpuSet,
    ) -> Option<Translation> {
        self.change_all(space, users, losers, |pmap| pmap.remove_large(first, tables), |was| was.is_some())
    }

    /// Leaves no rights but these to all entries of a page, whose slot is locked. Adds those that lose some to `losers`.
    #[inline(never)]
    pub(crate) fn protect_translations(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        users: Users,
        rights: Rights,
        losers: &mut CpuSet,
    ) {
        // Without an entry a TLB may still have a translation that is being taken away.
        let loses = |was: Option<Translation>| was.is_none_or(|was| !rights.allows(was.rights));
        self.change_all(space, users, losers, |pmap| pmap.protect(page, rights), loses);
    }

    /// Leaves no rights but these to the large entries that begin at a page, if there are any. Returns what they were. As `protect_translations`.
    pub(crate) fn protect_large_translations(
        &self,
        space: &SpaceBody<'m, M>,
        first: VirtualPage,
        users: Users,
        rights: Rights,
        losers: &mut CpuSet,
    ) -> Option<Translation> {
        let loses = |was: Option<Translation>| was.is_some_and(|was| !rights.allows(was.rights));
        self.change_all(space, users, losers, |pmap| pmap.protect_large(first, rights), loses)
    }

    /// Changes the entries in all page tables that may have one. Returns what they were, and adds the CPUs of those of which `loses` says so to
    /// `losers`.
    #[inline]
    fn change_all(
        &self,
        space: &SpaceBody<'m, M>,
        users: Users,
        losers: &mut CpuSet,
        mut change: impl FnMut(&M::Pmap) -> Option<Translation>,
        loses: impl Fn(Option<Translation>) -> bool,
    ) -> Option<Translation> {
        let mut all = None;
        self.each_tables(space, users, |pmap, cpus| {
            let was = change(pmap);
            if loses(was) {
                *losers = losers.with(cpus);
            }
            add(&mut all, was);
        });
        all
    }

    /// What entries of a page, whose slot is locked, said since the last time.
    #[inline(never)]
    pub(crate) fn harvest_translations(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        users: Users,
    ) -> Option<Translation> {
        let mut found = None;
        self.each_tables(space, users, |pmap, _| add(&mut found, pmap.harvest(page)));
        found
    }
}

/// Adds what another entry of the page says: all are of one frame.
fn add(all: &mut Option<Translation>, other: Option<Translation>) {
    *all = match (all.take(), other) {
        (Some(one), Some(other)) => Some(Translation {
            rights: one.rights | other.rights,
            accessed: one.accessed || other.accessed,
            dirty: one.dirty || other.dirty,
            ..one
        }),
        (one, other) => one.or(other),
    };
}
