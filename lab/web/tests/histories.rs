//! Histories over HTTP: commits, steps, ranges, comparisons of commits.

use crate::filled::{self, STEP};
use crate::served::{Served, history_called, places};
use faultline_record::quirk::{DeclaredQuirk, QuirkTime};
use faultline_stats::history::{Differing, HistoryPoint, HistoryRun, HistorySeries, OtherRun, StepSettings, series};
use faultline_web::DeclaredQuirks;
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
fn a_subject_that_two_hosts_measured_is_a_history_of_each() {
    let served = Served::new(false);
    filled::add_shared(&served.database);
    let all = served.get("/api/v1/histories").json();
    let shared: Vec<&Value> =
        all["histories"].as_array().unwrap().iter().filter(|one| one["subject"] == "shared").collect();
    assert_eq!(shared.iter().map(|one| one["host"].as_str().unwrap()).collect::<Vec<_>>(), ["fast", "slow"]);
    assert_ne!(shared[0]["id"], shared[1]["id"]);
    for (one, level) in shared.iter().zip([1.0, 2.0]) {
        let series = served.get(&format!("/api/v1/histories/{}", one["id"].as_str().unwrap())).json();
        assert_eq!(series["left_out"].as_array().unwrap().len(), 0, "{series:#}");
        let points = series["points"].as_array().unwrap();
        let medians = points.iter().map(|point| point["estimate"]["median"].as_f64().unwrap());
        assert!(medians.clone().count() == 14 && medians.clone().all(|median| (median / level - 1.0).abs() < 0.1));
    }
    let overview = served.get("/").body;
    assert!(overview.contains("on fast") && overview.contains("on slow"), "{overview}");
}

#[test]
fn a_history_has_its_step_its_failures_and_its_values() {
    let served = Served::new(false);
    let id = history_called(&served, "app", 1);
    let series = served.get(&format!("/api/v1/histories/{id}")).json();
    assert_eq!((series["points"].as_array().unwrap().len(), &series["next"]), (120, &Value::Null));
    let timeline = served.get(&format!("/api/v1/histories/{id}/timeline")).json();
    let marks = timeline["marks"].as_array().unwrap();
    assert_eq!((marks.len(), marks[3]["values"].as_array().unwrap().len()), (120, 6));
    assert_eq!((marks[30]["why"].as_str(), marks[50]["why"].as_str()), (Some("does not build"), Some("does not end")));
    let steps = timeline["steps"].as_array().unwrap();
    assert_eq!((steps.len(), steps[0]["by"].as_u64()), (1, Some(STEP as u64)));
    assert!(steps[0]["change"].as_str().unwrap().starts_with("+30"), "{}", steps[0]);
    let some = served.get(&format!("/api/v1/histories/{id}/timeline?from=10&to=12")).json();
    assert_eq!(some["marks"].as_array().unwrap()[..], marks[10..=12]);
    assert_eq!(served.get("/api/v1/histories/0000000000000000").status, 404);
    assert_eq!(served.get(&format!("/api/v1/histories/{id}/timeline?from=9&to=3")).status, 400);
    assert_ne!(id, history_called(&served, "app", 4));
}

#[test]
fn results_of_another_build_command_are_left_out_and_reported() {
    let served = Served::new(false);
    filled::add_rebuilt(&served.database);
    let places = places(served.database.clone());
    let stored = faultline_experiment::stored::histories("rebuilt", "/repository", 1, &places).unwrap();
    // The result of `faultline history show` for the same runs.
    let runs: Vec<HistoryRun<'_>> =
        stored.iter().map(|run| HistoryRun { head: &run.head, results: &run.results }).collect();
    let shown = series(&runs, &[], &StepSettings::default()).unwrap().unwrap();
    let id = history_called(&served, "rebuilt", 1);
    let answer = served.get(&format!("/api/v1/histories/{id}"));
    assert_eq!(serde_json::from_str::<HistorySeries>(&answer.body).unwrap(), shown);
    let values: Vec<Option<f64>> = shown.points.iter().map(HistoryPoint::value).collect();
    assert!(values[..10].iter().all(Option::is_none), "{values:?}");
    assert!(values[10..].iter().all(|value| value.is_some_and(|value| value < 1.5)), "{values:?}");
    let left_out = OtherRun { run: runs[1].head.id, differs_in: Differing::Recipe };
    assert_eq!((shown.runs.as_slice(), shown.left_out.as_slice()), (&[runs[0].head.id][..], &[left_out][..]));
    let timeline = served.get(&format!("/api/v1/histories/{id}/timeline")).json();
    let values = |at: usize| timeline["marks"][at]["values"].as_array().map_or(0, Vec::len);
    assert_eq!([values(9), values(10)], [0, 2]);
    let page = served.get(&format!("/histories/{id}")).body;
    assert!(page.contains("another build recipe"), "{page}");
}

#[test]
fn many_commits_come_in_buckets_without_losing_the_one_that_is_slow() {
    let served = Served::new(true);
    let id = history_called(&served, "long", 1);
    let wide = served.get(&format!("/api/v1/histories/{id}/timeline?width=300")).json();
    let buckets = wide["buckets"].as_array().unwrap();
    assert_eq!((buckets.len(), wide["marks"].as_array().unwrap().len()), (300, 0));
    assert!(
        buckets
            .iter()
            .any(|bucket| bucket["level"]["high_at"] == 4321 && bucket["level"]["high"].as_f64().unwrap() > 8.0)
    );
    let near = served.get(&format!("/api/v1/histories/{id}/timeline?from=4000&to=5000&width=300")).json();
    assert_eq!((near["marks"].as_array().unwrap().len(), near["buckets"].as_array().unwrap().len()), (1001, 0));
}

#[test]
fn other_histories_come_in_the_range_of_one_at_the_same_commits_and_bounded() {
    let served = Served::new(true);
    let [one, four, long] =
        [("app", 1), ("app", 4), ("long", 1)].map(|(subject, tasks)| history_called(&served, subject, tasks));
    let timeline = served.get(&format!("/api/v1/histories/{one}/timeline")).json();
    let related: Vec<&str> =
        timeline["related"].as_array().unwrap().iter().map(|other| other["id"].as_str().unwrap()).collect();
    assert_eq!((related.len(), related[0]), (3, four.as_str()), "those of the same subject come first");
    let address = format!("/api/v1/histories/{one}/beside");
    let some = served.get(&format!("{address}?with={four},{long}&from=60&to=79")).json();
    let [of_four, of_long] = some["series"].as_array().unwrap().as_slice() else { panic!("{some}") };
    assert_eq!((of_four["id"].as_str(), of_four["marks"].as_array().unwrap().len()), (Some(four.as_str()), 20));
    assert_eq!((of_four["marks"][10]["at"].as_f64(), &of_four["outside"]), (Some(70.0), &Value::from(0)));
    assert_eq!(of_long["outside"].as_u64(), Some(filled::LONG as u64 - 120));
    // Buckets of many commits keep the extremes.
    let wide = served.get(&format!("/api/v1/histories/{long}/beside?with={one}&width=50")).json();
    assert_eq!(wide["series"][0]["marks"].as_array().unwrap().len(), 120);
    filled::add_other_long(&served.database);
    let until = Instant::now() + Duration::from_secs(90);
    let buckets = loop {
        let all = served.get("/api/v1/histories").json();
        let found = all["histories"].as_array().unwrap().iter().find(|one| one["subject"] == "other").cloned();
        if let Some(other) = found {
            let with = other["id"].as_str().unwrap();
            break served.get(&format!("/api/v1/histories/{long}/beside?with={with}&width=300")).json();
        }
        assert!(Instant::now() < until, "{all}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let buckets = buckets["series"][0]["buckets"].as_array().unwrap().clone();
    assert_eq!(buckets.len(), 300);
    assert!(buckets.iter().any(|bucket| bucket["bucket"]["level"]["high_at"] == 1234));
    let many = [one.as_str(); 6].join(",");
    for odd in
        ["", "?with=", &format!("?with={four},{four}"), &format!("?with={many}"), "?with=%3Cscript%3E,,1,2,3,4,5"]
    {
        assert_eq!(served.get(&format!("{address}{odd}")).status, 400, "{odd}");
    }
    assert_eq!(served.get(&format!("{address}?with=0000000000000000")).status, 404);
}

#[test]
fn two_commits_of_a_history_are_compared_by_what_was_executed_of_them() {
    let served = Served::new(false);
    let id = history_called(&served, "app", 1);
    let name = |at: usize| filled::commit(at).id;
    let compare = |a: usize, b: usize| served.get(&format!("/histories/{id}/compare?a={}&b={}", name(a), name(b)));
    let page = compare(STEP - 1, STEP);
    assert_eq!(page.status, 200, "{page:?}");
    for part in
        ["1 commit of the history by A. Uthor", "\"answer\":\"slower\"", &format!("/runs/3/executions?subject={STEP}")]
    {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(compare(STEP, STEP + 1).body.contains("No step of the history begins here"));
    let unusable = compare(29, 30);
    assert_eq!(unusable.status, 200);
    assert!(unusable.body.contains("both commits need a value") && !unusable.body.contains("<img"));
    let address = format!("/histories/{id}/compare");
    let (a, b) = (name(1), name(2));
    for (query, status) in [
        (String::new(), 400),
        (format!("?a={a}"), 400),
        (format!("?a={a}&b={a}"), 400),
        (format!("?a={a}&b={}", "0".repeat(40)), 404),
        (format!("?a={a}&b=%3Cscript%3E"), 404),
        (format!("?a={a}&b={b}&c=1"), 400),
    ] {
        assert_eq!(served.get(&format!("{address}{query}")).status, status, "{query}");
    }
    let executions = served.get(&format!("/api/v1/runs/3/executions?subject={STEP}")).json();
    let executions = executions["executions"].as_array().unwrap();
    assert!(executions.len() == 6 && executions.iter().all(|one| one["subject"] == STEP), "{executions:?}");
}

#[test]
fn quirks_of_a_file_are_shown_with_those_of_the_database() {
    let mut quirks = DeclaredQuirks::default();
    let declared = DeclaredQuirk {
        what: "another linker <script>".to_owned(),
        when: QuirkTime::Commits { first: filled::commit(40).id, last: None },
    };
    quirks.add("app".to_owned(), "/repository".to_owned(), vec![declared]);
    let served = Served::with_quirks(quirks);
    let id = history_called(&served, "app", 1);
    let timeline = served.get(&format!("/api/v1/histories/{id}/timeline")).json();
    let quirk = &timeline["quirks"][0];
    assert_eq!((&quirk["letter"], &quirk["ranges"][0][0]), (&"A".into(), &40.into()), "{}", timeline["quirks"]);
    let page = served.get(&format!("/histories/{id}")).body;
    assert!(page.contains("another linker &lt;script&gt;"));
    let other = served.get(&format!("/api/v1/histories/{}/timeline", history_called(&served, filled::HOSTILE, 1)));
    assert_eq!(other.json()["quirks"], Value::Array(Vec::new()));
}

#[test]
fn steps_by_another_smallest_change_have_no_states() {
    let served = Served::new(false);
    let id = history_called(&served, "app", 1);
    let steps = |query: &str| served.get(&format!("/api/v1/histories/{id}/steps{query}")).json();
    let usual = steps("");
    assert_eq!((usual["least_change"].as_f64(), usual["steps"].as_array().unwrap().len()), (Some(0.01), 1));
    assert_eq!(usual["steps"][0]["state"], "");
    let timeline = served.get(&format!("/api/v1/histories/{id}/timeline")).json();
    assert_eq!((&timeline["least_change"], &timeline["steps"][0]["state"]), (&0.01.into(), &"found".into()));
    for (percent, found) in [("20", 1), ("28.25", 1), ("35", 0), ("100", 0), ("0", 1)] {
        // The second answer comes from the cache.
        for _ in 0..2 {
            let answer = steps(&format!("?min_change={percent}"));
            assert_eq!(answer["steps"].as_array().unwrap().len(), found, "{percent}");
        }
    }
    for odd in ["-1", "101", "NaN", "5%25", "%3Cscript%3E", ""] {
        let refused = served.get(&format!("/api/v1/histories/{id}/steps?min_change={odd}"));
        assert_eq!(refused.status, 400, "{odd}");
    }
    assert_eq!(served.get("/api/v1/histories/0000000000000000/steps").status, 404);
}

#[test]
fn histories_and_their_commits_come_in_pages() {
    let served = Served::new(false);
    let all = served.get("/api/v1/histories").json();
    let (mut pages, mut from) = (Vec::new(), Some(0));
    while let Some(place) = from {
        let page = served.get(&format!("/api/v1/histories?limit=2&from={place}")).json();
        pages.extend_from_slice(page["histories"].as_array().unwrap());
        from = page["next"].as_u64();
    }
    assert_eq!(Value::Array(pages), all["histories"]);
    assert_eq!(served.get("/api/v1/histories?from=99").json()["histories"], Value::Array(Vec::new()));

    let address = format!("/api/v1/histories/{}", history_called(&served, "app", 1));
    let whole = served.get(&address).json();
    let (mut points, mut steps, mut from) = (Vec::new(), Vec::new(), Some(0));
    while let Some(place) = from {
        let page = served.get(&format!("{address}?limit=50&from={place}")).json();
        assert_eq!((page["commits"].as_u64(), page["from"].as_u64()), (Some(120), Some(place)));
        points.extend_from_slice(page["points"].as_array().unwrap());
        steps.extend_from_slice(page["steps"]["steps"].as_array().unwrap());
        from = page["next"].as_u64();
    }
    assert_eq!((Value::Array(points), Value::Array(steps)), (whole["points"].clone(), whole["steps"]["steps"].clone()));
}

#[test]
fn a_build_that_fails_is_seen_though_nothing_is_executed() {
    let served = Served::new(false);
    let run = filled::begin_building(&served.database);
    let await_failed = |count: usize| {
        let until = Instant::now() + Duration::from_secs(90);
        loop {
            let all = served.get("/api/v1/histories?from=2").json();
            let found = all["histories"].as_array().unwrap().iter().find(|one| one["subject"] == "growing");
            let failed = found.map_or(0, |history| {
                let address = format!("/api/v1/histories/{}", history["id"].as_str().unwrap());
                let points = served.get(&address).json()["points"].clone();
                points.as_array().unwrap().iter().filter(|point| point["result"] == "unusable").count()
            });
            if failed == count {
                break;
            }
            assert!(Instant::now() < until, "{failed} failed builds are seen: {all}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    await_failed(1);
    filled::fail_a_further_build(&served.database, run);
    await_failed(2);
}

#[test]
fn a_commit_of_one_history_is_compared_with_one_of_another() {
    let served = Served::new(false);
    let of = |tasks| history_called(&served, "app", tasks);
    let name = |at: usize| filled::commit(at).id;
    let page = served.get(&format!("/compare?a={}@{}&b={}@{}", of(1), name(1), of(4), name(1)));
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("times with 1 and with 4 tasks are different quantities"), "{}", page.body);
    assert_eq!(page.body.matches("raw executions").count(), 2);
    assert!(!page.body.contains("id=\"between\""), "no commits lie between two histories");
    let same = served.get(&format!("/compare?a={0}@{1}&b={0}@{2}", of(1), name(1), name(2)));
    assert!(same.status == 200 && same.body.contains("id=\"between\""), "{same:?}");
    filled::add_moved(&served.database);
    filled::add_foreign(&served.database);
    let with = |subject: &str| {
        let begun = Instant::now();
        while !served.get("/api/v1/histories").body.contains(&format!("\"{subject}\"")) {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(100));
        }
        let other = history_called(&served, subject, 1);
        served.get(&format!("/compare?a={}@{}&b={other}@{}", of(1), name(80), name(10))).body
    };
    // Blocks of two runs are not paired.
    let moved = with("moved");
    assert!(moved.contains("\"method\":\"ranks\"") && !moved.contains("differences within blocks"), "{moved}");
    assert!(with("foreign").contains("Not compared: they are of different programs."));
    for odd in ["a=1&b=@", "a=x@y&b=x@y", "a=1", "a=@&b=@", "a=%00@&b=1"] {
        let answer = served.get(&format!("/compare?{odd}"));
        assert!((400..500).contains(&answer.status), "{odd}: {answer:?}");
    }
}
