//! The JSON API over HTTP: what it answers, and that each answer is bounded.

use crate::asked::{Served, places};
use crate::changes::{JSON, with_token};
use crate::filled;
use crate::filled::STEP;
use faultline_model::history::quirk::{DeclaredQuirk, QuirkTime};
use faultline_model::history::{Differing, HistoryPoint, HistorySeries, OtherRun};
use faultline_model::time::UnixMillis;
use faultline_stats::history::{HistoryRun, StepSettings, series};
use faultline_web::DeclaredQuirks;
use serde_json::Value;
use std::time::{Duration, Instant};

fn history_called(served: &Served, subject: &str, tasks: u32) -> String {
    let all = served.get("/api/v1/histories").json();
    let found =
        all["histories"].as_array().unwrap().iter().find(|one| one["subject"] == subject && one["tasks"] == tasks);
    found.unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn runs_come_in_pages_and_one_as_show_prints_it() {
    let served = Served::new(false);
    assert_eq!(served.get("/api/v1/health").json()["runs"], 5);
    let page = served.get("/api/v1/runs?limit=2").json();
    let ids = |page: &Value| {
        page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((ids(&page), page["next"].as_i64()), (vec![5, 4], Some(4)));
    let rest = served.get("/api/v1/runs?before=4").json();
    assert_eq!((ids(&rest), &rest["next"]), (vec![3, 2, 1], &Value::Null));
    let run = served.get("/api/v1/runs/1").json();
    assert_eq!((run["run"].as_i64(), run["curves"].as_array().unwrap().len()), (Some(1), 1));
    assert_eq!(served.get("/api/v1/runs/3").json()[0]["subject"], "app");
    assert_eq!(served.get("/api/v1/runs/77").status, 404);
}

#[test]
fn the_rows_of_a_run_come_in_pages_that_lead_to_each_other() {
    let served = Served::new(true);
    let whole = served.get("/api/v1/runs/3?limit=5000");
    assert_eq!(whole.header("link"), None);
    let points = |answer: &Value| answer[0]["points"].as_array().unwrap().clone();
    let whole = points(&whole.json());
    assert_eq!(whole.len(), 120);
    let (mut address, mut pages) = ("/api/v1/runs/3?limit=50".to_owned(), Vec::new());
    loop {
        let page = served.get(&address);
        pages.push(points(&page.json()));
        let Some(link) = page.header("link") else { break };
        address = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned();
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
    assert_eq!(pages.concat(), whole);
    // A step belongs to the page that has its first commit.
    let steps = |from| {
        served.get(&format!("/api/v1/runs/3?from={from}&limit=50")).json()[0]["steps"]["steps"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!([steps(0), steps(50), steps(100)], [0, 1, 0]);
    // Without a limit an answer is bounded, too.
    assert_eq!(points(&served.get("/api/v1/runs/6").json()).len(), 200);
    // Workloads of other runs.
    let run = |query: &str| served.get(&format!("/api/v1/runs/1{query}"));
    assert_eq!(run("?from=1").json()["curves"].as_array().unwrap().len(), 0);
    assert_eq!((run("?limit=1").json(), run("?limit=1").header("link")), (run("").json(), None));
    assert_eq!(["?limit=0", "?limit=5001", "?from=-1", "?before=1"].map(|query| run(query).status), [400; 4]);
}

#[test]
fn the_page_of_a_long_run_leads_to_its_further_commits() {
    let served = Served::new(true);
    let first = served.get("/runs/6").body;
    assert!(first.contains("href=\"?from=1000\"") && first.contains("Commit 999") && !first.contains("Commit 1001"));
    let last = served.get("/runs/6?from=5000").body;
    assert!(!last.contains("Further commits") && last.contains("Commit 5999"), "{last}");
    assert!(!served.get("/runs/3").body.contains("Further commits"));
}

#[test]
fn a_later_page_of_a_run_has_steps_at_their_commits_and_what_holds_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faultline.db");
    filled::fill(&path, false);
    filled::add_turning(&path);
    let served = Served::over(path, None, &[]);
    let [first, last] = ["/runs/6", "/runs/6?from=1000"].map(|target| served.get(target).body);
    let row = |page: &str, commit: usize| {
        page.lines().find(|line| line.contains(&filled::commit(commit).id[..12])).map(str::to_owned)
    };
    let (before, at) = (row(&last, filled::TURN - 1).unwrap(), row(&last, filled::TURN).unwrap());
    assert!(at.contains("worse") && !before.contains("worse"), "{before}\n{at}");
    assert_eq!((last.matches(", worse").count(), first.matches(", worse").count()), (1, 0));
    assert!(row(&last, 999).is_none() && row(&last, 1000).is_some() && row(&first, 1000).is_none());
    for page in [&first, &last] {
        assert!(page.contains("1100 of 1100 commits are measured") && page.contains("1 step was found"), "{page}");
    }
    // Data have the places of the whole history too.
    let data = served.get("/api/v1/runs/6?from=1000&limit=100").json();
    let step = &data[0]["steps"]["steps"][0];
    assert_eq!((step["by"].as_u64(), data[0]["points"].as_array().unwrap().len()), (Some(filled::TURN as u64), 100));
}

#[test]
fn the_console_of_a_guest_that_succeeded_is_kept_and_shown_as_text() {
    let served = Served::new(false);
    let executions = served.get("/api/v1/runs/1/executions?limit=2").json();
    let [with, without] = [0, 1].map(|at| executions["executions"][at]["id"].as_i64().unwrap());
    let text = format!("Linux version 6.1\n{}", filled::HOSTILE.replace('\0', ""));
    filled::add_console(&served.database, with, &text);
    let console = |execution: i64| served.get(&format!("/api/v1/runs/1/executions/{execution}/console"));
    let answer = console(with).json();
    assert_eq!((&answer["format"], answer["console"].as_str()), (&"faultline-console/1".into(), Some(text.as_str())));
    assert_eq!(console(without).json()["console"], Value::Null);
    assert_eq!(served.get(&format!("/api/v1/runs/2/executions/{with}/console")).status, 404);
    let page = |execution: i64| served.get(&format!("/runs/1/executions/{execution}")).body;
    assert!(page(with).contains("Linux version 6.1") && !page(with).contains("<img"));
    assert!(!page(without).contains("id=\"console\""));
}

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
fn samples_come_by_range_as_they_were_saved() {
    let served = Served::new(false);
    let page = served.get("/api/v1/runs/1/executions?limit=3").json();
    let executions = page["executions"].as_array().unwrap();
    assert_eq!((executions.len(), executions[1]["cell"]["tasks"].as_u64()), (3, Some(2)));
    let after = page["next"].as_i64().unwrap();
    assert_eq!(
        served.get(&format!("/api/v1/runs/1/executions?after={after}")).json()["executions"].as_array().unwrap().len(),
        15
    );
    let execution = executions[1]["id"].as_i64().unwrap();
    let address = format!("/api/v1/runs/1/executions/{execution}/samples");
    let all = served.get(&address).json();
    assert_eq!((all["total"].as_u64(), all["intervals"].as_array().unwrap().len()), (Some(3), 3));
    let some = served.get(&format!("{address}?from=1&limit=1")).json();
    assert_eq!(some["intervals"].as_array().unwrap(), &all["intervals"].as_array().unwrap()[1..2]);
    assert_eq!(served.get(&format!("{address}?phase=warmup")).json()["total"], 0);
    // The execution of another run, and none.
    assert_eq!(served.get(&format!("/api/v1/runs/2/executions/{execution}/samples")).status, 404);
    assert_eq!(served.get("/api/v1/runs/99/executions").status, 404);
    let once = served.get("/api/v1/runs/3/executions?limit=1").json()["executions"][0]["id"].as_i64().unwrap();
    let once = served.get(&format!("/api/v1/runs/3/executions/{once}/samples")).json();
    assert_eq!(once["measures"][0]["name"], "real_s");
}

#[test]
fn runs_are_compared_by_their_numbers_and_files_are_not_read() {
    let served = Served::new(false);
    let compared = served.get("/api/v1/compare?a=1&b=2").json();
    assert_eq!(compared["workloads"].as_array().unwrap().len(), 3);
    // The working directory has a file of that name.
    for name in ["Cargo.toml", "src/lib.rs", "/etc/passwd", "1%40a", "baseline", ""] {
        let answer = served.get(&format!("/api/v1/compare?a=1&b={name}"));
        assert_eq!(answer.status, 400, "{name}");
    }
    assert_eq!(served.get("/api/v1/compare?a=1&b=99").status, 404);
    assert_eq!(served.get("/api/v1/compare?a=1").status, 400);
    let refused = served.get("/api/v1/compare?a=1&b=3");
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.json()["error"].as_str().unwrap().contains("run 3"));
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
fn a_run_that_builds_commits_says_so_and_how_much_there_will_be() {
    let (served, token) = with_token("A. Uthor");
    let run = filled::begin_building(&served.database);
    let get = |target: &str| served.ask("GET", target, &[&token]);
    let line = get("/api/v1/runs?limit=1").json()["runs"][0].clone();
    assert_eq!(
        (line["id"].as_i64(), line["planned"].as_i64(), line["whole"].as_i64()),
        (Some(run.0), Some(0), Some(18))
    );
    let history = &line["history"];
    assert_eq!((history["subject"].as_str(), history["measured"].as_str()), (Some("growing"), Some("load")));
    let commit = filled::commit(1).id;
    let stage = serde_json::json!({"what": "build", "commit": commit, "number": 2});
    assert_eq!((&history["commits"], &history["stage"]), (&Value::from(3), &stage));
    for page in ["/", "/runs"] {
        let page = get(page).body;
        let says = format!("at the build of {}, 2 of 3 commits", &commit[..12]);
        assert!(page.contains(&says) && page.contains("<progress max=\"18\" value=\"0\""), "{page}");
        assert!(page.contains("0 of 18") && page.contains("history of growing: load, time"), "{page}");
    }
    // Its name in the list of jobs, and how far it is while a machine does one.
    let id = get("/api/v1/histories").json()["histories"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|one| (one["subject"] == "growing").then(|| one["id"].as_str().unwrap().to_owned()));
    let wish = format!(r#"{{"work": "measure", "commit": "{}"}}"#, filled::commit(2).id);
    assert_eq!(served.post(&format!("/api/v1/histories/{}/jobs", id.unwrap()), &[&token, JSON], &wish).status, 202);
    let jobs = || get("/api/v1/jobs").json()["jobs"][0].clone();
    assert_eq!(jobs()["open"], Value::Null);
    let places = places(served.database.clone());
    let mut worker = faultline_experiment::jobs::Worker::begin(UnixMillis(1), &places).unwrap();
    assert!(worker.take(UnixMillis(2), |_| Ok(true)).unwrap().is_some());
    assert_eq!((&jobs()["open"]["id"], &jobs()["open"]["whole"]), (&line["id"], &line["whole"]));
    let page = get("/jobs").body;
    assert!(page.contains(&format!("run {run}</a>: 0 of 18 executions")), "{page}");
    assert!(page.contains("load: the time, 1 copy"), "{page}");
}

#[test]
fn results_of_another_command_that_builds_are_not_mixed_in_and_are_said_to_be_left_out() {
    let served = Served::new(false);
    filled::add_rebuilt(&served.database);
    let places = places(served.database.clone());
    let stored = faultline_experiment::stored::histories("rebuilt", "/repository", 1, &places).unwrap();
    // What `faultline history show` makes of the same runs.
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
    assert!(page.contains("another way of building"), "{page}");
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
    // Many commits come in buckets that lose no extreme.
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
fn machines_have_their_facts_and_what_changed() {
    let served = Served::new(false);
    filled::add_moved(&served.database);
    let page = served.get("/machines");
    assert_eq!(page.status, 200, "{page:?}");
    for part in ["example", "kernel release", "6.12.0", "quirk", "7 starts of runs", "CPU model"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(!page.body.contains("<img"));
    assert_eq!(served.get("/machines?x=1").status, 400);
}

#[test]
fn the_overview_comes_in_pages() {
    let served = Served::new(false);
    let all = served.get("/").body;
    assert_eq!(all.matches("data-history=").count(), 3);
    assert!(!all.contains("Further histories"));
    let rest = served.get("/?from=2").body;
    assert_eq!(rest.matches("data-history=").count(), 1);
    assert!(rest.contains("1 of 3 histories"), "{rest}");
    assert_eq!(served.get("/?from=99").body.matches("data-history=").count(), 0);
    assert_eq!([served.get("/?from=-1").status, served.get("/?limit=1").status], [400, 400]);
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
        // The second answer is the one that was kept.
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
fn the_api_takes_the_described_parameters_and_no_others() {
    let served = Served::new(false);
    let description = served.get("/api/v1/openapi.json").json();
    let execution = served.get("/api/v1/runs/1/executions?limit=1").json()["executions"][0]["id"].to_string();
    let (history, other) = (history_called(&served, "app", 1), history_called(&served, "app", 4));
    for (path, operation) in description["paths"].as_object().unwrap() {
        let path = path.replace("{run}", "1").replace("{execution}", &execution).replace("{history}", &history);
        // What writes is tried in `changes`.
        let Some(parameters) = operation["get"]["parameters"].as_array() else { continue };
        let query: Vec<&Value> = parameters.iter().filter(|one| one["in"] == "query").collect();
        let value = |one: &Value| match (one["name"].as_str().unwrap(), one["schema"]["enum"][0].as_str()) {
            ("with", _) => other.clone(),
            (_, Some(word)) => word.to_owned(),
            (_, None) => one["schema"]["minimum"].as_i64().unwrap().max(1).to_string(),
        };
        let pairs: Vec<String> =
            query.iter().map(|one| format!("{}={}", one["name"].as_str().unwrap(), value(one))).collect();
        let answer = served.get(&format!("/api/v1{path}?{}", pairs.join("&")));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let answered = answer.json();
        let schema = &operation["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        for field in schema["required"].as_array().into_iter().flatten() {
            assert!(answered.get(field.as_str().unwrap()).is_some(), "{path} has no {field}");
        }
        if let Some(format) = schema["properties"]["format"]["const"].as_str() {
            assert_eq!(answered["format"], format, "{path}");
        }
        for odd in ["colour=red".to_owned(), pairs.first().map_or("x".to_owned(), |pair| format!("{pair}&{pair}"))] {
            assert_eq!(served.get(&format!("/api/v1{path}?{odd}")).status, 400, "{path}?{odd}");
        }
        for one in query.iter().filter(|one| one["schema"]["maximum"].is_u64()) {
            let beyond = one["schema"]["maximum"].as_u64().unwrap() + 1;
            let name = one["name"].as_str().unwrap();
            let others = pairs.iter().filter(|pair| !pair.starts_with(&format!("{name}=")));
            let query: Vec<String> = others.cloned().chain([format!("{name}={beyond}")]).collect();
            let refused = served.get(&format!("/api/v1{path}?{}", query.join("&")));
            assert_eq!(refused.status, 400, "{path} {one}");
        }
    }
}

#[test]
fn what_a_run_adds_is_seen_a_moment_later() {
    let served = Served::new(false);
    assert_eq!(served.get("/api/v1/health").json()["runs"], 5);
    let before = served.get(&format!("/api/v1/histories/{}", history_called(&served, "app", 1))).json();
    filled::fill(&served.database, false);
    let until = Instant::now() + Duration::from_secs(90);
    let health = loop {
        let health = served.get("/api/v1/health").json();
        if health["runs"] == 10 {
            break health;
        }
        assert!(Instant::now() < until, "{health}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((health["runs"].as_u64(), health["histories"].as_u64()), (Some(10), Some(3)));
    let after = served.get(&format!("/api/v1/histories/{}", history_called(&served, "app", 1))).json();
    assert_eq!((&before["runs"], &after["runs"]), (&serde_json::json!([3]), &serde_json::json!([8, 3])));
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
    // Another run measured it: its blocks are no pairs with those of this one.
    let moved = with("moved");
    assert!(moved.contains("\"method\":\"ranks\"") && !moved.contains("differences within blocks"), "{moved}");
    assert!(with("foreign").contains("Not compared: they are of different programs."));
    for odd in ["a=1&b=@", "a=x@y&b=x@y", "a=1", "a=@&b=@", "a=%00@&b=1"] {
        let answer = served.get(&format!("/compare?{odd}"));
        assert!((400..500).contains(&answer.status), "{odd}: {answer:?}");
    }
}

#[test]
fn runs_of_histories_are_not_compared_as_a_whole_and_lead_to_their_commits() {
    let served = Served::new(false);
    let runs = served.get("/api/v1/runs").json();
    let of_histories: Vec<i64> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| run["kind"] == "history")
        .map(|run| run["id"].as_i64().unwrap())
        .collect();
    let [a, b] = [of_histories[0], of_histories[1]];
    let answer = served.get(&format!("/compare?a={a}&b={b}"));
    assert_eq!(answer.status, 422);
    let way = answer
        .body
        .split("href=\"")
        .find_map(|part| part.starts_with("/compare?a=").then(|| part.split('"').next().unwrap()));
    let compared = served.get(&way.unwrap().replace("&amp;", "&"));
    assert_eq!(compared.status, 200, "{compared:?}");
    let own = served.get(&format!("/compare?a={a}&b={a}"));
    assert!(own.status == 422 && !own.body.contains("/compare?a="), "a commit is not compared with itself: {own:?}");
    assert_eq!(own.body.matches("belongs to").count(), 1);
    assert_eq!(served.get(&format!("/compare?a={a}&b=999")).status, 404);
    assert!(
        answer.body.contains(&format!("Run {a} belongs to")) && answer.body.contains(&format!("Run {b} belongs to"))
    );
}
