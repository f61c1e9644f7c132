//! The form by which a reader with a token says what a change is. The script sends it as JSON; without the script there is none.

use super::jobs::drill_form;
use crate::page::delivery::Site;
use faultline_model::history::change::ChangeState;
use faultline_model::history::{HistorySeries, HistoryStep};
use maud::{Markup, html as markup};

/// Most letters of a remark.
pub const REMARK_LETTERS: usize = 1000;

const STATES: [ChangeState; 4] = [ChangeState::Found, ChangeState::Confirmed, ChangeState::Ignored, ChangeState::Fixed];

/// The form for a step of a history with that identifier.
pub(super) fn mark_form(id: &str, series: &HistorySeries, step: &HistoryStep, site: &Site) -> Markup {
    let commit = series.commit(step.by).map_or("", |commit| commit.id.as_str());
    markup! {
        details.marking {
            summary { "Set state, or search" }
            form data-mark=(site.change(id, commit)) {
                label {
                    "State "
                    select name="state" {
                        @for state in STATES {
                            option value=(state.word()) selected[state == step.state.now] { (state.word()) }
                        }
                    }
                }
                label { "Remark " input name="reason" maxlength=(REMARK_LETTERS) autocomplete="off"; }
                button type="submit" { "Save" }
                p.hint role="status" {}
            }
            (drill_form(id, series, step, site))
        }
    }
}
