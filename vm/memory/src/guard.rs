//! Guards: pages of a mapping that refuse every access, such as the end of a stack. A guard is a mark of a slot, so a large one is one slot,
//! and none has a page or a page-table entry.

use crate::address::PageRange;
use crate::change::{Left, check_mapped};
use crate::counters::Event;
use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::space::Space;
use crate::tree::slot::{Mapped, Marks, View};

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Makes a range refuse every access, whatever its rights are and become: a fault there is [`FaultError::Guarded`]. The private contents
    /// that were there are given up. Children have the guards of their parents. Fails if there is a hole in the range; then
    /// nothing is changed.
    ///
    /// [`FaultError::Guarded`]: crate::FaultError::Guarded
    pub fn guard(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        check_mapped(&lock)?;
        self.count(Event::Guard);
        self.clear(space, &lock, Left::Guard);
        Ok(())
    }

    /// Ends that: the range is as it was mapped, without private contents. There may be holes in it, and pages that are no guards, which
    /// stay as they are.
    pub fn unguard(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        // Nothing is taken away, so no CPU need be asked: a guard has no translation.
        lock.each(|slot, _, _| {
            if let View::Mapped(mapped) = slot.load().view() {
                slot.set(View::Mapped(Mapped { marks: mapped.marks.without(Marks::GUARD), ..mapped }));
            }
        });
        Ok(())
    }
}
