//! The pages as files: all of them, with links that lead to files, and never over the files of others.

mod filled;

use faultline_experiment::{Error, Places};
use faultline_model::record::RunId;
use faultline_store::Store;
use faultline_web::{DeclaredQuirks, Exported, export_site};
use std::fs;
use std::path::Path;

fn places(database: &Path) -> Places {
    Places { database: Some(database.to_owned()), ..Places::find().unwrap() }
}

fn export(site: &Path, database: &Path) -> Result<Exported, Error> {
    export_site(site, &DeclaredQuirks::default(), &places(database))
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db.sqlite");
    filled::fill(&database, false);
    let site = directory.path().join("deep/site");
    let exported = export(&site, &database).unwrap();
    assert_eq!((exported.runs, exported.histories, exported.left_out.as_slice()), (5, 3, &[][..]));
    let mut links = 0;
    for page in ["index.html", "runs.html", "changes.html", "runs/1.html", "runs/3.html"]
        .into_iter()
        .map(str::to_owned)
        .chain(histories(&site))
    {
        let text = fs::read_to_string(site.join(&page)).unwrap();
        assert!(text.contains("Content-Security-Policy"), "{page}");
        assert!(text.contains("These pages show the database as it was on <time datetime=\"20"), "{page}");
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
    // Again, which replaces them.
    assert_eq!(export(&site, &database).unwrap(), exported);
}

fn histories(site: &Path) -> Vec<String> {
    let names = fs::read_dir(site.join("histories")).unwrap();
    names.map(|entry| format!("histories/{}", entry.unwrap().file_name().into_string().unwrap())).collect()
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
    export_site(&site, &DeclaredQuirks::default(), &places(&database)).unwrap();
    fs::write(site.join("runs/notes.txt"), "of somebody else").unwrap();
    fs::write(site.join("assets/page-0.js"), "of an older version").unwrap();
    let before = histories(&site);
    // Run 4 is the only one of its history.
    Store::open_existing(&database).unwrap().delete_runs(&[RunId(1), RunId(4)]).unwrap();
    let exported = export_site(&site, &DeclaredQuirks::default(), &places(&database)).unwrap();
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
    let after = histories(&site);
    assert!(after.len() + 1 == before.len() && after.iter().all(|page| before.contains(page)), "{before:?} {after:?}");
}
