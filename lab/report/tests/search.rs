//! The page of a search along commits: the answer first, a picture, and links to the forge.

use crate::fixtures::search::{STEP, found, head, id};
use faultline_report::site::{Site, bisect_html, bisect_page};

#[test]
fn the_page_opens_with_its_answer_and_shows_the_search_as_a_picture() {
    let page = bisect_html(&found(), &head(None));
    let own = page.split_once("</style>").unwrap().1;
    let own = &own[..own.find("<script").unwrap()];
    assert!(own.contains("<h1>bisect v1.4..HEAD</h1>"), "{own}");
    let answer = own.split_once("class=\"answer bad\"").unwrap().1.split_once("</p>").unwrap().0;
    assert!(answer.contains(&id(STEP)[..12]) && answer.contains(") changed the time"), "{answer}");
    assert!(own.find("class=\"answer bad\"").unwrap() < own.find("<figure class=\"search\"").unwrap());
    for part in ["<circle class=\"level\"", "class=\"chance\"", "<line class=\"step worse\"", "class=\"unusable\""] {
        assert!(own.contains(part), "{part}: {own}");
    }
    assert_eq!(own.matches("<circle").count(), 5, "each measured commit");
    assert!(!own.contains("NaN") && !own.contains("\"inf"), "{own}");
    assert!(!own.contains("https://") && !own.contains(" src=\""), "it loads nothing and links nowhere");
}

#[test]
fn texts_of_commits_stay_texts() {
    for page in [bisect_html(&found(), &head(None)), bisect_page(&found(), &head(None), &Site::served())] {
        assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains('\u{1b}'), "{page}");
    }
}

#[test]
fn commits_lead_to_a_known_forge_only() {
    let page = |forge: &str| bisect_page(&found(), &head(Some(forge)), &Site::served());
    let address = format!("href=\"https://github.com/owner/name/commit/{}\"", id(STEP));
    assert!(page("https://github.com/owner/name").contains(&address));
    for other in ["https://example.org/owner/name", "javascript:alert(1)", "https://github.com/a/\"onclick=x"] {
        assert!(!page(other).contains("class=\"forge\""), "{other}");
    }
}
