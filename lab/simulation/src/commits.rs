//! The commits of the world's history, as a search gets them: builds take time, and are killed, stopped, or find no room.

use crate::death::Moment;
use crate::history::History;
use crate::world::World;
use faultline_experiment::{Error, Lab};
use faultline_history::build::Build;
use faultline_history::declared::Which;
use faultline_history::{Commits, Relink, Relinked, Revert, Reverted, Walked};
use faultline_model::commit::{CommitInfo, CommitLine};
use faultline_model::explained::FilesChanged;
use faultline_model::recipe::{BuildTools, Recipe};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// How long a build takes.
const BUILD: Duration = Duration::from_secs(20);

/// The problem of a disk that is full.
pub(crate) const FULL: &str = "the simulated disk is full";

/// The commits of a world.
pub(crate) struct SimulatedCommits(pub(crate) Rc<World>);

impl SimulatedCommits {
    fn history(&self) -> Result<&History, Error> {
        let history = self.0.scenario.history();
        history.ok_or_else(|| Error::failed("this experiment has no history", "search one that has"))
    }

    /// Builds or links something, which may be killed before and after, stopped, or find no room.
    fn work(&self, name: &str, tools: &BuildTools, lab: &Lab<'_>) -> Result<(), Error> {
        let world = &self.0;
        world.ledger.borrow_mut().build_begins(name, &tools.digest);
        world.moment(Moment::Between);
        world.clock.pass(BUILD);
        if lab.stop.is_set() {
            return Err(Error::stopped());
        }
        if world.is_disk_full() {
            return Err(Error::failed(FULL, "make room"));
        }
        world.moment(Moment::Between);
        Ok(())
    }
}

impl Commits for SimulatedCommits {
    fn line(&self, _: &str, _: &str, _: &Lab<'_>) -> Result<CommitLine, Error> {
        Ok(self.history()?.line())
    }

    fn walk(&self, _: &Which, _: &Lab<'_>) -> Result<Walked, Error> {
        Ok(Walked { commits: self.history()?.line().commits, tagged: BTreeSet::new() })
    }

    fn tools(&self, _: &Recipe, _: &Lab<'_>) -> Result<BuildTools, Error> {
        self.0.moment(Moment::Writing);
        let version = self.0.tools();
        let versions = [("cc --version".to_owned(), format!("cc {version}"))].into();
        Ok(BuildTools { digest: version.to_string(), versions })
    }

    fn build(&self, commit: &CommitInfo, _: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Build, Error> {
        self.work(&commit.id, tools, lab)?;
        Ok(self.history()?.build(commit))
    }

    fn relink(&self, asked: &Relink<'_>, _: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Relinked, Error> {
        self.work(&format!("{} in layout {}", asked.commit.id, asked.layout.seed), tools, lab)?;
        Ok(self.history()?.relink(asked))
    }

    fn revert(&self, asked: &Revert<'_>, _: &Lab<'_>) -> Result<Reverted, Error> {
        let hint = "search without reverts";
        Err(Error::failed(format!("the simulated commit {} has no files to undo", asked.commit.id), hint))
    }

    fn files(&self, from: &CommitInfo, to: &CommitInfo, lab: &Lab<'_>) -> Result<FilesChanged, Error> {
        self.0.moment(Moment::Between);
        if lab.stop.is_set() {
            return Err(Error::stopped());
        }
        Ok(self.history()?.files(from, to))
    }
}
