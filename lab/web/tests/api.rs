//! Runs, executions and machines over HTTP, and the description of the API.

use crate::changes::{JSON, with_token};
use crate::filled;
use crate::served::{Served, history_called, places};
use faultline_record::time::UnixMillis;
use serde_json::Value;
use std::time::{Duration, Instant};

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
    // A step is on the page of its first commit.
    let steps = |from| {
        served.get(&format!("/api/v1/runs/3?from={from}&limit=50")).json()[0]["steps"]["steps"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!([steps(0), steps(50), steps(100)], [0, 1, 0]);
    // Bounded also without a limit.
    assert_eq!(points(&served.get("/api/v1/runs/6").json()).len(), 200);
    // The rows of other runs are workloads.
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
    // Positions in data are those of the whole history.
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
    // An execution of another run, and a missing one.
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
        let says = format!("building {}, 2 of 3 commits", &commit[..12]);
        assert!(page.contains(&says) && page.contains("<progress max=\"18\" value=\"0\""), "{page}");
        assert!(page.contains("0 of 18") && page.contains("history of growing: load, time"), "{page}");
    }
    // Its row in the list of jobs, with progress while a machine does one.
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
fn the_api_takes_the_described_parameters_and_no_others() {
    let served = Served::new(false);
    let description = served.get("/api/v1/openapi.json").json();
    let execution = served.get("/api/v1/runs/1/executions?limit=1").json()["executions"][0]["id"].to_string();
    let (history, other) = (history_called(&served, "app", 1), history_called(&served, "app", 4));
    for (path, operation) in description["paths"].as_object().unwrap() {
        let path = path.replace("{run}", "1").replace("{execution}", &execution).replace("{history}", &history);
        // `changes` tests writes.
        let Some(parameters) = operation["get"]["parameters"].as_array() else { continue };
        let query: Vec<&Value> = parameters.iter().filter(|one| one["in"] == "query").collect();
        let value = |one: &Value| match (one["name"].as_str().unwrap(), one["schema"]["enum"][0].as_str()) {
            ("with", _) => other.clone(),
            (_, Some(word)) => word.to_owned(),
            (_, None) => one["schema"]["minimum"].as_f64().unwrap().max(1.0).to_string(),
        };
        let pairs: Vec<String> =
            query.iter().map(|one| format!("{}={}", one["name"].as_str().unwrap(), value(one))).collect();
        let answer = served.get(&format!("/api/v1{path}?{}", pairs.join("&")));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let answered = answer.json();
        let schema = &operation["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let schemas: Vec<&Value> = schema["anyOf"].as_array().map_or(vec![schema], |all| all.iter().collect());
        let is_met = |schema: &Value| {
            let named = schema["$ref"].as_str().and_then(|name| description.pointer(name.strip_prefix('#')?));
            let schema = named.unwrap_or(schema);
            let required = schema["required"].as_array().into_iter().flatten();
            let has_all = required.clone().all(|field| answered.get(field.as_str().unwrap()).is_some());
            let format = schema["properties"]["format"]["const"].as_str();
            required.count() > 0 && has_all && format.is_none_or(|format| answered["format"] == format)
        };
        assert!(schemas.into_iter().any(is_met), "{path}: {answered}");
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
