//! The host on which a run of a history measured time.

use faultline_model::record::RunHead;

/// Its name, as its facts have it. `None` of counts, which are the same on each host, and of a run without this fact.
pub fn measuring_host(head: &RunHead) -> Option<String> {
    if head.settings.history()?.measure.counted().is_some() {
        return None;
    }
    let facts = head.sessions.first()?.facts.first()?;
    facts.get_text("host.name").map(str::to_owned)
}
