//! Page tables of a space: one set for all CPUs, or one per CPU, as the machine requires.
//!
//! A CPU with tables of its own translates with them alone. It takes a fault on each page that it
//! uses, even if another CPU has used the page before; in return a page's slot records its users
//! ([`Users`]), and only those are asked to forget the translation. So threads of one space that
//! use separate pages share no lines, neither of page tables nor for shoot-downs. The idea is
//! RadixVM's, in sv6.
//!
//! To change a page's translation, a CPU holds the page's slot, and changes the tables of each
//! user, including those on which the space is not active now. Tables have a lock `[t]`, held for
//! one entry's change, or while a large one is made or divided. It protects the tables' memory: an
//! empty table is taken out under the lock, so no other CPU is walking it, and is freed when the
//! CPU that owns the tables has answered a shoot-down. That CPU's hardware reads them without a
//! lock.

use crate::address::{Rights, VirtualPage};
use crate::cpu_set::{CpuSet, Users};
use crate::error::NoMemory;
use crate::machine::{FrameSource, Machine, Pmap, Translation};
use crate::memory::Cpu;
use crate::space::{Own, SpaceBody};
use faultline_numbers::{CpuNumber, FrameNumber};

impl<'m, M: Machine> SpaceBody<'m, M> {
    /// The page tables that a CPU translates with: `None` if they are its own and the space was
    /// never active there.
    #[inline]
    pub(crate) fn pmap_of(&self, cpu: CpuNumber) -> Option<&M::Pmap> {
        match &self.shared {
            Some(shared) => Some(shared),
            None => self.own(cpu).map(|own| &own.pmap),
        }
    }

    /// Frees tables that were taken out of any of its page tables, after the CPUs that translate
    /// with them have answered.
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
        self.active.part(cpu).and_then(|part| part.own.get())
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Page tables for all CPUs, if the machine shares them.
    pub(crate) fn shared_tables(&self) -> Result<Option<M::Pmap>, NoMemory> {
        if self.machine().has_tables_of_each_cpu() { Ok(None) } else { self.machine().new_pmap().map(Some) }
    }

    /// Makes this CPU's page tables, if it needs its own.
    pub(crate) fn make_tables(&self, space: &SpaceBody<'m, M>) -> Result<(), NoMemory> {
        match (&space.shared, space.active.part(self.number)) {
            (None, Some(part)) => part.own.make(|| self.machine().new_pmap()),
            _ => Ok(()),
        }
    }

    /// The CPUs that translate with the same page tables as this one.
    pub(crate) fn table_users(&self, space: &SpaceBody<'m, M>) -> CpuSet {
        if space.shared.is_some() { CpuSet::ALL } else { CpuSet::of(self.number) }
    }

    /// Calls `act` with the page tables that this CPU translates with.
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

    /// Calls `act` with all page tables that may have a translation, and the CPUs that translate
    /// with them.
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

    /// Makes an entry of a page, whose slot is locked, for this CPU, or adds rights to one.
    /// `users`: the slot's users, updated.
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

    /// Removes all entries of a page, whose slot is locked, and returns them. Adds CPUs that had
    /// one, or may still have it in their TLBs, to `losers`.
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

    /// Removes large entries that begin at a page, like `remove_translations`.
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

    /// Restricts all entries of a page, whose slot is locked, to these rights. Adds CPUs that lose
    /// rights to `losers`.
    #[inline(never)]
    pub(crate) fn protect_translations(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        users: Users,
        rights: Rights,
        losers: &mut CpuSet,
    ) {
        // Even without an entry, a TLB may still have a translation that is being removed.
        let loses = |was: Option<Translation>| was.is_none_or(|was| !rights.allows(was.rights));
        self.change_all(space, users, losers, |pmap| pmap.protect(page, rights), loses);
    }

    /// Restricts large entries that begin at a page, like `protect_translations`. Returns their old
    /// values.
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

    /// Changes the entries in all page tables that may have one, and returns their old values. Adds
    /// the CPUs of tables for which `loses` is true to `losers`.
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

    /// Accessed and dirty bits of a page's entries since the last call. The page's slot is locked.
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

/// Merges another entry of the page: all have one frame.
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
