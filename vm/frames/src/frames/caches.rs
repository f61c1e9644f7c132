//! Drains of caches; what can be tuned at run time: the size of stocks, and watermarks.

use super::Frames;
use crate::config::{MOST_STOCK, Watermarks};
use crate::cpu::CurrentCpu;
use crate::drain::{CPUS_PER_STEP, Drain};
use crate::error::{ConfigError, GetError};
use crate::search::Search;
use faultline_numbers::{CpuNumber, DomainId, FrameNumber};

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Empties all CPUs' stocks, this CPU's current magazine and the slots of zeroed frames into the range layer. Each
    /// other CPU keeps at most 32 frames, and 32 more if it is moving a magazine at that moment. Stops no CPU. Returns
    /// the number of frames freed.
    pub fn drain(&self) -> u64 {
        let (mut drain, mut freed) = (Drain::default(), 0);
        while let Some(more) = self.held(|layers, local| layers.drain_step(local, &mut drain)).flatten() {
            freed += more;
        }
        freed + self.drain_own_magazine()
    }

    /// Empties everything that this CPU holds, including its reserved block: for a CPU that goes idle for long. Returns
    /// the number of frames freed.
    pub fn drain_own(&self) -> u64 {
        self.held(|layers, local| layers.drain_whole(local, local.cache)).unwrap_or(0)
    }

    /// Empties everything that another CPU holds. Returns the number of frames freed.
    ///
    /// # Safety
    /// That CPU is offline: it makes no calls until this returns, and its earlier writes are visible here.
    pub unsafe fn drain_offline(&self, cpu: CpuNumber) -> u64 {
        self.held(|layers, local| layers.cache(cpu).map_or(0, |cache| layers.drain_whole(local, cache))).unwrap_or(0)
    }

    /// Sets the maximum number of magazines in a CPU's stock. If it has more, they remain until it ages or is drained. Fails
    /// with [`ConfigError::Stock`] above [`MOST_STOCK`](crate::MOST_STOCK), and with [`ConfigError::Cpus`] if there is no
    /// such CPU; then nothing has changed.
    pub fn set_stock_most(&self, cpu: CpuNumber, most: u8) -> Result<(), ConfigError> {
        if most > MOST_STOCK {
            return Err(ConfigError::Stock);
        }
        let cache = self.layers.cache(cpu).ok_or(ConfigError::Cpus)?;
        cache.set_stock_most(most);
        Ok(())
    }

    /// Sets a domain's watermarks. Calls the hook if the domain is below the new low watermark and was not below the old one,
    /// or the other way round. Other calls that are under way may still respect the old ones. A CPU that has more frames on
    /// account than the new low watermark allows keeps them until its next change of the account. Fails with
    /// [`ConfigError::Marks`] if `min` is above `low`, and with [`ConfigError::Domains`] if there is no such domain; then
    /// nothing has changed. Fails with [`ConfigError::Cpus`] if the caller's CPU is not in the configuration.
    pub fn set_marks(&self, domain: DomainId, marks: Watermarks) -> Result<(), ConfigError> {
        marks.check()?;
        let is_set = self.held(|layers, local| layers.set_marks(local, domain, marks)).ok_or(ConfigError::Cpus)?;
        if is_set { Ok(()) } else { Err(ConfigError::Domains) }
    }

    /// A domain's watermarks. None if there is no such domain.
    pub fn marks(&self, domain: DomainId) -> Option<Watermarks> {
        self.layers.domains.get(domain).map(|state| state.marks())
    }

    /// Lowers the stock limit of CPUs that have not refilled since the last call. For the page daemon, about once per
    /// second. Returns the number of frames freed.
    pub fn age(&self) -> u64 {
        let (mut first, mut freed) = (0, 0);
        while let Some(more) = self.held(|layers, local| layers.age_step(local, first)).flatten() {
            (first, freed) = (first + CPUS_PER_STEP, freed + more);
        }
        freed
    }

    /// Drains caches in steps. After each that freed something, tries again.
    pub(super) fn after_drains(
        &self,
        mut again: impl FnMut(&mut Search) -> Result<Option<FrameNumber>, GetError>,
    ) -> Result<Option<FrameNumber>, GetError> {
        let mut drain = Drain::default();
        while let Some(freed) = self.held(|layers, local| layers.drain_step(local, &mut drain)).flatten() {
            if freed > 0
                && let Some(got) = again(&mut Search::default())?
            {
                return Ok(Some(got));
            }
        }
        Ok(None)
    }

    pub(super) fn drain_own_magazine(&self) -> u64 {
        self.held(|layers, local| layers.drain_current(local, local.cache)).unwrap_or(0)
    }
}
