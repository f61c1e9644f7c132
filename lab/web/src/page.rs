//! A page as an answer, and why there is none, as a page too.

use crate::problem::{Problem, with_retry};
use crate::unchanged::tag;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, ETAG};
use axum::response::{Html, IntoResponse, Response};
use faultline_report::site::{Site, problem_page};

/// What a page may do: its script and style come from us, and so does what it asks for. Bars have their widths in attributes, and the plots' library
/// brings style of its own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page.
pub(crate) struct Page(pub(crate) String);

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let policy = HeaderValue::from_static(POLICY);
        ([(CONTENT_SECURITY_POLICY, policy), (ETAG, tag(&self.0))], Html(self.0)).into_response()
    }
}

/// Why there is no page, as a page.
pub(crate) struct PageProblem(Problem);

impl From<Problem> for PageProblem {
    fn from(problem: Problem) -> Self {
        PageProblem(problem)
    }
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        let Problem { status, problem, hint } = self.0;
        let page = problem_page(status.as_u16(), &problem, hint.as_deref(), &Site::served());
        with_retry((status, Page(page)).into_response())
    }
}
