//! Pages that a browser has already are not sent again. Only pages with a running run poll.

use crate::filled;
use crate::served::{Answer, Served};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time limit for a new run to appear on a busy host. The database is read every two seconds.
const SEEN_WITHIN: Duration = Duration::from_secs(60);

/// The tag of an answer with a lower-case head.
fn tag(answer: &Answer) -> String {
    let tag = answer.head.lines().find_map(|line| line.strip_prefix("etag: w/"));
    format!("W/{}", tag.unwrap_or_else(|| panic!("{answer:?}")))
}

#[test]
fn a_page_is_sent_again_only_if_it_has_changed() {
    let served = Served::new(false);
    for page in ["/", "/changes", "/runs/1"] {
        let first = served.get(page);
        let tag = tag(&first);
        let again = served.ask("GET", page, &[&format!("If-None-Match: {tag}")]);
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{page}");
        assert!(again.head.contains(&tag.to_lowercase()) && again.head.contains("x-frame-options"), "{again:?}");
        let other = served.ask("GET", page, &["If-None-Match: W/\"0\", \"1\""]);
        assert_eq!((other.status, &other.body), (200, &first.body), "{page}");
    }
    let before = served.get("/");
    let tag = tag(&before);
    filled::add_moved(&served.database);
    let mut after = served.ask("GET", "/", &[&format!("If-None-Match: {tag}")]);
    let begun = Instant::now();
    while after.status == 304 && begun.elapsed() < SEEN_WITHIN {
        sleep(Duration::from_millis(100));
        after = served.ask("GET", "/", &[&format!("If-None-Match: {tag}")]);
    }
    assert!(after.status == 200 && after.body.contains("moved"), "{after:?}");
}

#[test]
fn pages_say_whether_a_run_goes_on() {
    let served = Served::new(false);
    const GOES_ON: &str = "data-live=\"on\"";
    assert!(served.get("/").body.contains("data-live=\"off\""));
    filled::add_growing(&served.database);
    let begun = Instant::now();
    while !served.get("/").body.contains(GOES_ON) {
        assert!(begun.elapsed() < SEEN_WITHIN);
        sleep(Duration::from_millis(100));
    }
    let histories = served.get("/api/v1/histories").json();
    for history in histories["histories"].as_array().unwrap() {
        let page = served.get(&format!("/histories/{}", history["id"].as_str().unwrap()));
        assert_eq!(page.body.contains(GOES_ON), history["subject"] == "growing", "{history}");
    }
}
