//! Pages of a database, for a server or as files: they are made of the same components as the page of a run.

mod badge;
mod between;
mod changes;
mod executions;
mod feed;
mod frame;
mod jobs;
mod lens_comparison;
mod live;
mod machines;
mod mark_form;
mod marks;
mod overview;
mod points;
mod problem;
mod runs;
mod sparkline;
mod text;
mod timeline;

pub use crate::page::delivery::{Site, pinned};
pub use changes::{ChangeRow, ChangesPage, changes_page};
pub use executions::{Further, SamplesPage, execution_page, executions_page};
pub use feed::{FeedEntry, changes_feed};
pub use jobs::{JobRow, JobsPage, jobs_page};
pub use lens_comparison::lens_comparison_page;
pub use machines::machines_page;
pub use mark_form::REMARK_LETTERS;
pub use marks::{Executed, commit_mark, history_name, quirk_marks, step_mark};
pub use overview::{HistoryRow, Overview, overview_page};
pub use points::{PointSide, PointsPage, Searched, StepDiffers, points_page, searches};
pub use problem::{problem_page, problem_page_with_ways};
pub use runs::runs_page;
pub use text::text_page;
pub use timeline::{OFFERED_THRESHOLDS, TimelineFiles, TimelinePage, timeline_page};

use crate::page::assets;
use crate::page::comparison_page;
use crate::page::delivery::Delivery;
use crate::page::run_page;
use faultline_model::comparison::Comparison;
use faultline_model::record::RunHead;
use faultline_model::summary::RunSummary;
use serde::Serialize;

/// A file that pages of a site share.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Its name in the directory `assets`. It changes with the content.
    pub name: &'static str,
    /// Its content.
    pub text: &'static str,
    /// Its media type.
    pub media_type: &'static str,
}

/// The files that pages of a site share: script and style.
pub const ASSETS: [Asset; 2] = [
    Asset { name: assets::SCRIPT_NAME, text: assets::SCRIPT, media_type: "text/javascript; charset=utf-8" },
    Asset { name: assets::STYLE_NAME, text: assets::STYLE, media_type: "text/css; charset=utf-8" },
];

/// A script that hands an answer over to a page that is a file.
pub fn answer_script(answer: &impl Serialize) -> String {
    // As a text within the script, not as an expression: so it is data, whatever names its parts have.
    format!("faultlineAnswer({});\n", assets::embedded_json(&assets::embedded_json(answer)))
}

/// The page of a run, in a site.
pub fn run_of_site(summary: &RunSummary, head: &RunHead, site: &Site) -> String {
    run_page(summary, head, &Delivery::Site(site))
}

/// The page of a comparison, in a site.
pub fn comparison_of_site(compared: &Comparison, site: &Site) -> String {
    comparison_page(compared, &Delivery::Site(site))
}
