//! Pages as files: complete, with links to files, and never over foreign files.

use crate::filled;
use faultline_experiment::{Error, Places};
use faultline_record::record::RunId;
use faultline_store::Store;
use faultline_web::{DeclaredQuirks, ExportRequest, Exported, export_site};
use std::fs;
use std::path::Path;

fn places(database: &Path) -> Places {
    Places { database: Some(database.to_owned()), ..Places::find().unwrap() }
}

fn export(site: &Path, database: &Path) -> Result<Exported, Error> {
    export_with(20, site, database)
}

fn export_with(comparisons: usize, site: &Path, database: &Path) -> Result<Exported, Error> {
    let quirks = &DeclaredQuirks::default();
    export_site(&ExportRequest { directory: site, quirks, comparisons, executions: 1000 }, &places(database))
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db.sqlite");
    filled::fill(&database, false);
    let site = directory.path().join("deep/site");
    let exported = export(&site, &database).unwrap();
    assert_eq!((exported.runs, exported.histories, exported.comparisons), (5, 3, 60));
    // 18 of each of the first two runs. A commit of `app` does not build, and one fails at its
    // first execution.
    assert_eq!(exported.executions, 2 * 18 + 2 * (118 * 6 + 1) + 14 * 2);
    assert_eq!(exported.left_out.as_slice(), &[] as &[String]);
    let mut links = 0;
    for page in [
        "index.html",
        "runs.html",
        "changes.html",
        "runs/1.html",
        "runs/3.html",
        "runs/1/executions.html",
        "runs/1/executions/0.html",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(histories(&site))
    {
        let text = fs::read_to_string(site.join(&page)).unwrap();
        assert!(text.contains("Content-Security-Policy"), "{page}");
        assert!(!text.contains(">Jobs<"), "{page}: nobody can ask files for work");
        assert!(text.contains("Exported from the database on <time datetime=\"20"), "{page}");
        let own = site.join(&page);
        for link in
            text.split(" href=\"").chain(text.split(" src=\"")).skip(1).filter_map(|rest| rest.split('"').next())
        {
            if link.starts_with('#') || link.starts_with("data:") || link.starts_with('<') {
                continue;
            }
            assert!(!link.starts_with('/') && !link.contains("://"), "{page}: {link}");
            let target = own.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.is_file(), "{page} leads to {link}");
            links += 1;
        }
    }
    assert!(links > 30, "{links}");
    // A second export replaces the files.
    assert_eq!(export(&site, &database).unwrap(), exported);
}

/// Pages of histories and comparisons.
fn histories(site: &Path) -> Vec<String> {
    let pages = files(&site.join("histories")).into_iter().filter(|path| path.ends_with(".html"));
    pages.map(|path| format!("histories/{path}")).collect()
}

/// All files below a directory, by relative path.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path()).into_iter().map(|below| format!("{name}/{below}"))),
            false => found.push(name),
        }
    }
    found
}

/// The data of a script.
fn answer(site: &Path, path: &str) -> serde_json::Value {
    let script = fs::read_to_string(site.join(path)).unwrap();
    let text = script.strip_prefix("faultlineAnswer(").and_then(|rest| rest.strip_suffix(");\n")).unwrap();
    let json: String = serde_json::from_str(text).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[test]
fn what_a_history_is_asked_is_answered_in_files() {
    let directory = tempfile::tempdir().unwrap();
    let (database, site) = (directory.path().join("db.sqlite"), directory.path().join("site"));
    filled::fill(&database, true);
    export_with(3, &site, &database).unwrap();
    let all = files(&site.join("histories"));
    let id = |starts: &str| {
        let is_it = |path: &&String| {
            path.ends_with(".html")
                && !path.contains('/')
                && fs::read_to_string(site.join("histories").join(path)).unwrap().contains(&format!("<title>{starts}"))
        };
        all.iter().filter(is_it).map(|path| path.trim_end_matches(".html").to_owned()).collect::<Vec<_>>()
    };
    let (app, long) = (id("app"), id("long"));
    assert_eq!((app.len(), long.len()), (2, 1));
    let below = |id: &str, kind: &str| all.iter().filter(|path| path.starts_with(&format!("{id}/{kind}/"))).count();
    // The other history of `app`, and those of the same repository.
    assert_eq!([below(&app[0], "beside"), below(&app[0], "steps"), below(&app[0], "commits")], [3, 9, 0]);
    assert_eq!([below(&app[0], "compare"), below(&long[0], "compare"), below(&long[0], "commits")], [3, 3, 3]);

    let beside = answer(&site, &format!("histories/{}/beside/{}.js", app[0], app[1]));
    assert_eq!(
        (&beside["format"], &beside["series"][0]["id"]),
        (&"faultline-beside/1".into(), &app[1].as_str().into())
    );
    assert_eq!(beside["series"][0]["marks"].as_array().unwrap().len(), 120);
    let steps = |percent: &str| answer(&site, &format!("histories/{}/steps/{percent}.js", app[0]))["steps"].clone();
    assert_eq!(steps("0.2").as_array().unwrap().len(), 1);
    assert_eq!(steps("50").as_array().unwrap().len(), 0);
    let last = answer(&site, &format!("histories/{}/commits/2.js", long[0]));
    assert_eq!((&last["from"], &last["to"], &last["commits"]), (&5000.into(), &5999.into(), &6000.into()));
    assert_eq!(last["marks"].as_array().unwrap().len(), 1000);

    // Both sides of the step come first.
    let (step, before) = (filled::STEP, filled::STEP - 1);
    let compared = fs::read_to_string(site.join(format!("histories/{}/compare/{before}-{step}.html", app[0]))).unwrap();
    assert!(compared.contains("slower") && compared.contains(&format!("executions.html#subject-{step}")), "{compared}");
}

#[test]
fn executions_have_their_samples_and_consoles_and_say_if_there_are_more() {
    let directory = tempfile::tempdir().unwrap();
    let (database, site) = (directory.path().join("db.sqlite"), directory.path().join("site"));
    filled::fill(&database, false);
    for execution in [1, 2] {
        filled::add_console(&database, execution, "Linux version 6.1 <b>");
    }
    let quirks = &DeclaredQuirks::default();
    let request = ExportRequest { directory: &site, quirks, comparisons: 0, executions: 2 };
    let exported = export_site(&request, &places(&database)).unwrap();
    assert_eq!((exported.executions, files(&site.join("runs/1")).len()), (10, 2));
    let read = |name: &str| fs::read_to_string(site.join(name)).unwrap();
    assert!(read("runs/1/executions.html").contains("The first 2; the database has more."));
    let both = read("runs/1/executions/0.html");
    let (first, second) = both.split_once("id=\"execution-2\"").unwrap();
    assert!(second.contains("3 of 3 samples of the window\n"), "{second}");
    assert!(first.contains("Linux version 6.1 &lt;b&gt;"), "{first}");
    assert!(!second.contains("Console") && !both.contains("?phase="));
}

#[test]
fn nothing_of_an_answer_is_executed() {
    let directory = tempfile::tempdir().unwrap();
    let (database, site) = (directory.path().join("db.sqlite"), directory.path().join("site"));
    filled::fill(&database, false);
    export(&site, &database).unwrap();
    let scripts = files(&site.join("histories")).into_iter().filter(|path| path.ends_with(".js"));
    let mut hostile = 0;
    for script in scripts {
        let text = fs::read_to_string(site.join("histories").join(&script)).unwrap();
        // One call with one text, in one line.
        assert!(
            text.starts_with("faultlineAnswer(\"") && text.ends_with("\");\n") && text.lines().count() == 1,
            "{script}"
        );
        assert!(!text.contains('<'), "{script}");
        let answer = answer(&site, &format!("histories/{script}"));
        hostile += usize::from(answer.to_string().contains("onerror=alert(1)"));
    }
    assert!(hostile > 2, "{hostile}");
}

#[test]
fn files_of_others_stay() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db.sqlite");
    filled::fill(&database, false);
    let refused = export(directory.path(), &database).unwrap_err();
    assert!(refused.problem.contains("not pages of a database"), "{refused:?}");
    let nowhere = export(&directory.path().join("site"), Path::new("/nowhere/db.sqlite")).unwrap_err();
    assert!(nowhere.problem.contains("/nowhere/db.sqlite"));
    assert!(!directory.path().join("site").exists());
}

#[test]
fn what_is_no_longer_in_the_database_has_no_page() {
    let directory = tempfile::tempdir().unwrap();
    let (database, site) = (directory.path().join("db.sqlite"), directory.path().join("site"));
    filled::fill(&database, false);
    export(&site, &database).unwrap();
    fs::write(site.join("runs/notes.txt"), "of somebody else").unwrap();
    fs::write(site.join("assets/page-0.js"), "of an earlier export").unwrap();
    let before = histories(&site);
    fs::write(site.join("histories/notes.txt"), "of somebody else").unwrap();
    // Run 4 is the only one of its history.
    Store::open_existing(&database).unwrap().delete_runs(&[RunId(1), RunId(4)]).unwrap();
    let exported = export(&site, &database).unwrap();
    assert_eq!((exported.runs, exported.histories), (3, 2));
    for (name, is_there) in [
        ("runs/1.html", false),
        ("runs/2.html", true),
        ("runs/4.html", false),
        ("runs/notes.txt", true),
        ("assets/page-0.js", false),
    ] {
        assert_eq!(site.join(name).exists(), is_there, "{name}");
    }
    assert!(site.join("histories/notes.txt").exists());
    let after = histories(&site);
    // A page with its files.
    assert!(after.len() + 21 == before.len() && after.iter().all(|page| before.contains(page)), "{before:?} {after:?}");
    let directories =
        |path: &Path| fs::read_dir(path).unwrap().filter(|one| one.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(directories(&site.join("histories")), 2);
}
