//! In which boot an attempt ran.

use faultline_model::plan::Settings;
use faultline_model::record::{Attempt, RunRecord};
use faultline_model::setup::SideName;

/// How the machines of `--on` that boot for each execution are named.
const GUEST: &str = "qemu";

/// The boot's name: of a guest, that of the attempt; of a host, its boot's id at the session in which the attempt began. None where no fact tells.
pub(crate) fn boot(record: &RunRecord, side: Option<SideName>, attempt: &Attempt) -> Option<String> {
    if is_guest(&record.settings, side) {
        return Some(format!("run {} attempt {}", record.id, attempt.id.0));
    }
    let begun = |session: &&faultline_model::record::Session| session.started <= attempt.started;
    let session = record.sessions.iter().rfind(begun).or(record.sessions.first())?;
    let own = session.facts_b.as_ref().filter(|_| side == Some(SideName::B));
    own.unwrap_or(&session.facts).get_text("boot.id").map(str::to_owned)
}

fn is_guest(settings: &Settings, side: Option<SideName>) -> bool {
    let setup = settings.comparison.as_ref().zip(side).map(|(comparison, side)| &comparison.side(side).setup);
    let on = setup.and_then(|setup| setup.on.as_ref()).or(settings.on.as_ref());
    on.is_some_and(|on| on.starts_with(GUEST)) || setup.is_some_and(|setup| setup.kernel.is_some())
}
