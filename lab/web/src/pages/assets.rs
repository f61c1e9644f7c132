//! Script and style. Their names change with their content, so browsers keep them. Only these two names exist: nothing is looked for in a file system.

use super::PageProblem;
use crate::problem::Problem;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use faultline_report::site::ASSETS;

pub(super) async fn asset(Path(name): Path<String>) -> Result<Response, PageProblem> {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    let asset =
        found.ok_or_else(|| Problem::not_found("there is no such file", "pages name the files that they need"))?;
    let headers = [(CONTENT_TYPE, asset.media_type), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.text).into_response())
}
