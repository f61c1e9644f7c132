//! Jobs requested over HTTP with a token.

use crate::changes::{JSON, list, with_token};
use crate::filled::{STEP, commit};
use crate::served::Served;

#[test]
fn a_reader_with_a_token_asks_for_work_once_and_withdraws_it() {
    let (served, token) = with_token("A. Uthor");
    let change = list(&served.ask("GET", "/api/v1/changes", &[&token]))
        .into_iter()
        .find(|change| change["subject"] == "app" && change["step"]["by"] == STEP as u64)
        .unwrap();
    let (history, by) = (change["history"].as_str().unwrap(), change["by"]["id"].as_str().unwrap());
    let target = format!("/api/v1/histories/{history}/jobs");
    let ask = |work: &str, commit: &str| {
        served.post(&target, &[&token, JSON], &format!(r#"{{"work": "{work}", "commit": "{commit}"}}"#))
    };
    let bisect = ask("bisect", by);
    assert_eq!((bisect.status, bisect.json()["is_new"].as_bool()), (202, Some(true)), "{bisect:?}");
    assert_eq!(ask("bisect", by).json()["job"], bisect.json()["job"]);
    assert_eq!(ask("measure", by).status, 202);
    let jobs = served.ask("GET", "/api/v1/jobs", &[&token]).json();
    let jobs = jobs["jobs"].as_array().unwrap();
    assert_eq!((jobs[0]["work"]["kind"].as_str(), jobs[1]["work"]["kind"].as_str()), (Some("measure"), Some("bisect")));
    assert_eq!((jobs[1]["asked_by"].as_str(), jobs[1]["state"].as_str()), (Some("A. Uthor"), Some("waiting")));
    assert_eq!(jobs[1]["work"]["place"]["by"].as_str(), Some(by));
    let page = served.ask("GET", "/jobs", &[&token]).body;
    assert!(page.contains("by A. Uthor") && page.contains("Withdraw"), "{page}");
    // Every page links to this one.
    let overview = served.ask("GET", "/", &[&token]).body;
    let (navigation, _) = overview.split_once("</nav>").unwrap();
    let places: Vec<usize> =
        ["/changes", "/jobs", "/runs"].map(|page| navigation.find(&format!("href=\"{page}\"")).unwrap()).into();
    assert!(places.is_sorted(), "{navigation}");
    let compared =
        served.ask("GET", &format!("/histories/{history}/compare?a={by}&b={}", commit(0).id), &[&token]).body;
    let styled = |page: &str, label: &str| {
        let (form, _) = page.split_once(label).unwrap_or_else(|| panic!("{label}: {page}"));
        form.rsplit_once("<form").unwrap().1.starts_with(" class=\"buttons\"")
    };
    assert!(styled(&compared, "Measure A again") && styled(&compared, "Measure B again"), "{compared}");
    assert!(styled(&page, "Withdraw"), "{page}");
    let withdraw = |number: &str| served.post(&format!("/api/v1/jobs/{number}/withdraw"), &[&token, JSON], "{}").status;
    let number = bisect.json()["job"].to_string();
    assert_eq!((withdraw(&number), withdraw(&number), withdraw("x")), (204, 409, 404));
    assert_eq!((ask("measure", &"0".repeat(40)).status, ask("bisect", &"0".repeat(40)).status), (404, 404));
    assert_eq!(ask("sleep", by).status, 400);
    assert_eq!(served.post(&target, &[JSON], "{}").status, 401);
}

#[test]
fn without_tokens_no_job_can_be_requested() {
    let served = Served::new(false);
    let history = list(&served.get("/api/v1/changes"))[0]["history"].as_str().unwrap().to_owned();
    assert_eq!(served.post(&format!("/api/v1/histories/{history}/jobs"), &[JSON], "{}").status, 405);
    assert!(!served.get("/changes").body.contains("data-post"));
}
