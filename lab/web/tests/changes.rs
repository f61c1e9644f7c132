//! Changes of histories over HTTP: the list, the feed, and states set with a token.

use crate::filled::{self, LATE, MOVED, STEP};
use crate::served::{Answer, Served};
use faultline_web::{NewToken, Tokens};
use serde_json::Value;
use std::time::{Duration, Instant};

pub const JSON: &str = "Content-Type: application/json";

/// A server that needs a token, and the header with the token.
pub fn with_token(name: &str) -> (Served, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tokens");
    let token = NewToken::add_named_to(&file, name).unwrap().token;
    (Served::with(false, Some(Tokens::read(&file).unwrap()), &[]), format!("Authorization: Bearer {token}"))
}

pub fn list(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["changes"].as_array().unwrap().clone()
}

/// The address that sets the state of a change.
fn address(change: &Value) -> String {
    format!(
        "/api/v1/histories/{}/changes/{}",
        change["history"].as_str().unwrap(),
        change["by"]["id"].as_str().unwrap()
    )
}

#[test]
fn the_work_list_has_the_steps_of_all_histories_and_how_certain_they_are() {
    let served = Served::new(false);
    filled::add_moved(&served.database);
    let all = list(&served.get("/api/v1/changes"));
    let has = |subject: &str, by: usize| {
        let found = all.iter().find(|one| one["subject"] == subject && one["step"]["by"] == by as u64);
        found.unwrap_or_else(|| panic!("{subject} {by}: {all:?}"))["certainty"].as_str().unwrap().to_owned()
    };
    assert_eq!(has("app", STEP), "certain");
    assert_eq!(has("moved", MOVED), "quirk");
    assert_eq!(has("moved", LATE), "provisional");
    let committed = |one: &Value| one["by"]["committed_s"].as_i64().unwrap();
    assert!(all.is_sorted_by_key(|one| -committed(one)), "{all:?}");
    let first = served.get("/api/v1/changes?limit=1").json();
    assert_eq!((first["changes"][0].clone(), first["next"].as_u64()), (all[0].clone(), Some(1)));
    assert_eq!(first["total"].as_u64(), Some(all.len() as u64));
    // A quirk needs no attention.
    assert_eq!(list(&served.get("/api/v1/changes?state=open")).len(), all.len() - 1);
    assert_eq!(list(&served.get("/api/v1/changes?state=fixed")).len(), 0);
    assert_eq!(served.get("/api/v1/changes?state=odd").status, 400);
    let page = served.get("/changes");
    assert!(page.status == 200 && page.body.contains("provisional") && !page.body.contains("data-mark"), "{page:?}");
}

#[test]
fn what_a_later_commit_took_back_is_fixed() {
    let served = Served::new(false);
    filled::add_mended(&served.database);
    let fixed = list(&served.get("/api/v1/changes?state=fixed"));
    let told: Vec<_> = fixed.iter().map(|one| (one["subject"].as_str().unwrap(), one["step"]["by"].as_u64())).collect();
    assert_eq!(told, [("mended", Some(20))]);
}

#[test]
fn the_feed_is_well_formed_and_the_same_change_has_the_same_name() {
    let served = Served::new(false);
    filled::add_moved(&served.database);
    let feed = served.get("/changes.atom");
    assert!(feed.status == 200 && feed.head.contains("content-type: application/atom+xml"), "{feed:?}");
    let changes = list(&served.get("/api/v1/changes"));
    assert_eq!(feed.body.matches("<entry>").count(), changes.len());
    for forbidden in ["<script", "<img", "\0", "onerror=alert(1)>"] {
        assert!(!feed.body.contains(forbidden), "{forbidden}: {}", feed.body);
    }
    // Commit 70 has a hostile subject, which is in the feed as text.
    assert!(feed.body.contains("&lt;/script&gt;&lt;img src=x"), "{}", feed.body);
    assert_eq!(served.get("/changes.atom").body, feed.body);
    let names: Vec<&str> = feed.body.split("<id>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() == names.len() && names.iter().all(|name| name.starts_with("urn:uuid:")), "{names:?}");
}

#[test]
fn a_reader_with_a_token_sets_the_state_and_everybody_sees_it() {
    let (served, token) = with_token("A. Uthor");
    let before = list(&served.ask("GET", "/api/v1/changes", &[&token]));
    let target = address(&before[0]);
    let body = r#"{"state": "ignored", "reason": " </script> known "}"#;
    let marked = served.post(&target, &[&token, JSON], body);
    assert_eq!(marked.status, 200, "{marked:?}");
    let state = &marked.json()["change"]["step"]["state"];
    assert_eq!(
        (state["now"].as_str(), state["log"][0]["source"]["name"].as_str()),
        (Some("ignored"), Some("A. Uthor"))
    );
    assert_eq!(state["log"][0]["reason"], "</script> known");
    let ignored = list(&served.ask("GET", "/api/v1/changes?state=ignored", &[&token]));
    assert_eq!((ignored.len(), address(&ignored[0])), (1, target.clone()));
    let page = served.ask("GET", "/changes", &[&token]);
    assert!(page.body.contains("ignored by A. Uthor: &lt;/script&gt; known"), "{}", page.body);
    assert!(page.body.contains("data-mark"), "{}", page.body);
    let history = served.ask("GET", &format!("/histories/{}", before[0]["history"].as_str().unwrap()), &[&token]);
    assert!(history.body.contains("ignored by A. Uthor"), "{}", history.body);
    // Another mark takes its place.
    assert_eq!(served.post(&target, &[&token, JSON], r#"{"state": "found"}"#).status, 200);
    assert_eq!(list(&served.ask("GET", "/api/v1/changes?state=ignored", &[&token])).len(), 0);
}

#[test]
fn without_a_name_the_token_is_named_by_its_hash_or_by_the_user() {
    let (served, token) = with_token("");
    let target = address(&list(&served.ask("GET", "/api/v1/changes", &[&token]))[0]);
    let who = |header: &str| {
        let marked = served.post(&target, &[header, JSON], r#"{"state": "confirmed"}"#).json();
        let log = marked["change"]["step"]["state"]["log"].as_array().unwrap().clone();
        log.last().unwrap()["source"]["name"].as_str().unwrap().to_owned()
    };
    assert!(who(&token).starts_with("token "));
    use base64::Engine as _;
    let secret = token.rsplit(' ').next().unwrap();
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("B. Uilder:{secret}"));
    assert_eq!(who(&format!("Authorization: Basic {basic}")), "B. Uilder");
}

#[test]
fn others_cannot_set_a_state() {
    let (served, token) = with_token("");
    let target = address(&list(&served.ask("GET", "/api/v1/changes", &[&token]))[0]);
    let body = r#"{"state": "ignored", "reason": "known"}"#;
    assert_eq!(served.post(&target, &[JSON], body).status, 401);
    let own = format!("Origin: http://{}", served.address);
    let post = |headers: &[&str], body: &str| served.post(&target, &[&[token.as_str()], headers].concat(), body).status;
    for foreign in [
        "Origin: http://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Origin: http://127.0.0.1:1",
        &own.replace("http:", "https:"),
    ] {
        assert_eq!(post(&[JSON, foreign], body), 403, "{foreign}");
    }
    assert_eq!(post(&[], body), 415);
    assert_eq!(post(&["Content-Type: text/plain"], body), 415);
    assert_eq!(post(&["Content-Type: application/x-www-form-urlencoded"], "state=ignored"), 415);
    let long = format!(r#"{{"state": "ignored", "reason": "{}"}}"#, "x".repeat(1001));
    let odd = [r#"{"state": "odd"}"#, r#"{"state": "ignored", "who": "x"}"#, "{}", "", "[1]", "\u{0}", long.as_str()];
    for odd in odd {
        assert_eq!(post(&[JSON], odd), 400, "{odd}");
    }
    assert_eq!(post(&[JSON], &"x".repeat(100_000)), 413);
    let nowhere = target.replace(|digit: char| digit.is_ascii_digit(), "f");
    assert_eq!(served.post(&nowhere, &[&token, JSON], body).status, 404);
    assert_eq!(served.post("/api/v1/changes", &[&token, JSON], body).status, 405);
    assert_eq!(served.ask("DELETE", &target, &[&token]).status, 405);
    assert_eq!(list(&served.ask("GET", "/api/v1/changes?state=ignored", &[&token])).len(), 0);
    assert_eq!(post(&[JSON, &own, "Sec-Fetch-Site: same-origin"], body), 200);
    // A server without tokens writes nothing.
    let open = Served::new(false);
    let target = address(&list(&open.get("/api/v1/changes"))[0]);
    assert_eq!(open.post(&target, &[JSON], body).status, 405);
    assert!(open.said.lock().unwrap().is_empty());
}

#[test]
fn a_change_is_ignored_only_for_a_reason() {
    let (served, token) = with_token("A. Uthor");
    let target = address(&list(&served.ask("GET", "/api/v1/changes", &[&token]))[0]);
    let post = |body: &str| served.post(&target, &[&token, JSON], body);
    // The form of the page sends an empty remark.
    for without in
        ["", r#", "reason": null"#, r#", "reason": """#, r#", "reason": " \t\u00a0 ""#, r#", "reason": "\u200b""#]
    {
        let refused = post(&format!(r#"{{"state": "ignored"{without}}}"#));
        assert_eq!(refused.status, 422, "{without}: {refused:?}");
        assert_eq!(refused.json()["error"], "a change is ignored only for a reason");
        assert!(refused.json()["hint"].as_str().unwrap().contains("reason"), "{refused:?}");
    }
    assert_eq!(list(&served.ask("GET", "/api/v1/changes?state=ignored", &[&token])).len(), 0);
    assert_eq!(post(r#"{"state": "fixed", "reason": " "}"#).status, 200);
}

#[test]
fn what_the_command_says_is_seen_a_moment_later() {
    let served = Served::new(false);
    let change = list(&served.get("/api/v1/changes"))[0].clone();
    assert_eq!(change["step"]["state"]["now"], "found");
    let id = change["history"].as_str().unwrap();
    let series: faultline_stats::history::HistorySeries =
        serde_json::from_str(&served.get(&format!("/api/v1/histories/{id}")).body).unwrap();
    let fixed = faultline_record::change_event::ChangeState::Fixed;
    let said = faultline_experiment::Mark::new(fixed, "somebody".to_owned(), None).unwrap();
    let at = faultline_record::time::UnixMillis(1_900_000_000_000);
    let places = crate::served::places(served.database.clone());
    faultline_experiment::mark(&series, &series.steps.steps[0], said, at, &places).unwrap();
    // Longer on a busy machine: a page may be as old as four times the duration of a read.
    let until = Instant::now() + Duration::from_secs(60);
    let mut after = Vec::new();
    while after.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
        after = list(&served.get("/api/v1/changes?state=fixed"));
    }
    assert_eq!((after.len(), &after[0]["history"]), (1, &change["history"]));
}
