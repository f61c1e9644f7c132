//! The commits that a history would measure.

use super::SUBJECT_LETTERS;
use crate::format::Format;
use crate::json::json;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::style::{Style, UNICODE};
use crate::table::{self, Table};
use faultline_model::commit::short_name;
use faultline_model::history::PlannedCommit;
use faultline_model::time::UnixMillis;

/// The commits of one or more histories, with what a run would do with each.
pub fn history_commits(all: &[PlannedCommit], format: Format, style: &Style) -> String {
    let table = Table::new(columns(), all);
    match format {
        Format::Table => {
            let wanted = all.iter().filter(|planned| planned.is_wanted).count();
            let sentence = format!("{wanted} of {} would be measured by `faultline history run`.", all.len());
            table.text(style) + &style.wrap(&sentence, "", "").join("\n") + "\n"
        }
        Format::Markdown => table.markdown(&UNICODE),
        Format::Json => json(all),
        Format::Csv => table.csv(),
    }
}

type Column<'a> = table::Column<&'a PlannedCommit>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("history", |planned, _| one_line(&planned.subject))
            .csv("history", |planned| planned.subject.clone()),
        Column::right("tasks", |planned, _| planned.tasks.to_string())
            .csv("tasks", |planned| planned.tasks.to_string()),
        Column::left("commit", |planned, _| short_name(&planned.commit.id).to_owned())
            .csv("commit", |planned| planned.commit.id.clone()),
        Column::left("date", |planned, _| moment::day(UnixMillis(planned.commit.committed_s.saturating_mul(1000)))),
        Column::left("result", |planned, _| result(planned).to_owned())
            .csv("result", |planned| result(planned).to_owned()),
        Column::csv_only("is_picked", |planned| planned.is_picked.to_string()),
        Column::csv_only("is_wanted", |planned| planned.is_wanted.to_string()),
        Column::left("subject", |planned, _| cut(&one_line(&planned.commit.subject), SUBJECT_LETTERS))
            .csv("subject", |planned| one_line(&planned.commit.subject)),
    ]
}

fn result(planned: &PlannedCommit) -> &'static str {
    match (planned.is_measured, planned.is_wanted) {
        (Some(true), false) => "measured",
        (Some(true), true) => "to be measured again",
        (Some(false), false) => "cannot be measured",
        (Some(false), true) => "to be tried again",
        (None, _) => "to be measured",
    }
}
