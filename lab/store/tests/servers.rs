//! The store on a PostgreSQL server: crashes, concurrent runners and readers, refusals, encryption.

use crate::place::server::{PASSWORD_IN_URL, Server, USER};
use crate::place::{TestDatabase, shared};
use crate::runner::{Acknowledged, assert_holds, begin, measure, session};
use faultline_store::{Store, StoreError, StoreErrorKind};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn what_a_server_acknowledged_is_there_after_it_was_killed() {
    const ROUNDS: u64 = 4;
    let mut server = Server::start();
    let place = TestDatabase::schema_of(&server);
    // A session that asks not to wait for the disk waits nevertheless.
    let hasty = format!("{}%20-c%20synchronous_commit%3Doff", place.db.display());
    for round in 0..ROUNDS {
        let mut store = Store::open_or_create(if round % 2 == 0 { &place.db } else { Path::new(&hasty) }).unwrap();
        let run = begin(&mut store, 10_000);
        let (sender, progress) = mpsc::channel();
        let writer = thread::spawn(move || {
            let mut acknowledged = Acknowledged::default();
            sender.send(()).unwrap();
            let problem = measure(&mut store, run, 10_000, 40, &mut acknowledged);
            (acknowledged, problem)
        });
        progress.recv().unwrap();
        thread::sleep(Duration::from_millis(150 + 70 * round));
        server.kill();
        let (acknowledged, problem) = writer.join().unwrap();
        let problem = problem.expect("a write fails when the server is gone");
        assert!(problem.contains("the connection was lost"), "{problem}");
        assert!(acknowledged.attempts.iter().any(|(_, intervals, _)| *intervals > 0), "the kill met no write");
        server.start_again();
        let mut store = Store::open_existing(&place.db).unwrap();
        assert_holds(&store.load_run(run).unwrap(), &acknowledged);
        // The run can be resumed, and nothing of it is lost then either.
        assert_eq!(store.newest_open_run().unwrap(), Some(run));
        store.resume_run(run, &session()).unwrap();
        let record = store.load_run(run).unwrap();
        assert!(record.attempts.iter().all(|attempt| attempt.outcome.is_some()));
        let unclosed = record.attempts.len() - acknowledged.attempts.iter().filter(|attempt| attempt.2).count();
        assert!(unclosed <= 2, "{unclosed} attempts were cut short");
        store.finish_run(run).unwrap();
    }
}

#[test]
fn two_runners_and_a_reader_use_one_database_at_once() {
    const ITEMS: u32 = 60;
    const INTERVALS: u64 = 20;
    let place = TestDatabase::schema();
    place.store();
    let runs = thread::scope(|scope| {
        let runner = || {
            scope.spawn(|| {
                let mut store = place.store();
                let run = begin(&mut store, ITEMS);
                let mut acknowledged = Acknowledged::default();
                assert_eq!(measure(&mut store, run, ITEMS, INTERVALS, &mut acknowledged), None);
                store.finish_run(run).unwrap();
                (run, acknowledged)
            })
        };
        let runners = [runner(), runner()];
        let reader =
            scope.spawn(|| {
                let store = Store::open_to_read(&place.db).unwrap();
                let (mut reads, mut seen) = (0, 0);
                loop {
                    let lines = store.list_runs().unwrap();
                    for line in &lines {
                        let record = store.load_run(line.id).unwrap();
                        // A snapshot: a closed attempt has everything that was saved before it was
                        // closed.
                        let whole = |attempt: &&faultline_record::record::Attempt| attempt.outcome.is_some();
                        assert!(record.attempts.iter().filter(whole).all(|attempt| {
                            attempt.window.len() as u64 == INTERVALS && attempt.counters.len() == 1
                        }));
                        seen += record.attempts.len();
                    }
                    reads += 1;
                    if lines.len() == 2 && lines.iter().all(|line| line.ended == ITEMS) {
                        return (reads, seen);
                    }
                }
            });
        let runs = runners.map(|runner| runner.join().unwrap());
        let (reads, seen) = reader.join().unwrap();
        assert!(reads > 2 && seen > 0, "the reader read while they wrote");
        runs
    });
    let store = Store::open_existing(&place.db).unwrap();
    for (run, acknowledged) in &runs {
        let record = store.load_run(*run).unwrap();
        assert_eq!(record.attempts.len(), ITEMS as usize);
        assert!(record.attempts.iter().all(|attempt| attempt.window.len() as u64 == INTERVALS));
        assert_holds(&record, acknowledged);
    }
    assert_ne!(runs[0].0, runs[1].0);
}

#[test]
fn a_run_is_measured_by_one_process_at_a_time() {
    let place = TestDatabase::schema();
    let (mut one, mut other) = (place.store(), place.store());
    let run = begin(&mut one, 2);
    let refused = |refused: StoreError| {
        assert!(refused.problem.starts_with(&format!("another process is measuring run {run}: process ")), "{refused}");
        assert!(refused.hint.is_some());
    };
    refused(other.resume_run(run, &session()).unwrap_err());
    refused(other.delete_runs(&[run]).unwrap_err());
    assert_eq!(other.newest_open_run().unwrap(), None, "`resume` without a number takes no run of another machine");
    assert_eq!(other.newest_unfinished_run().unwrap(), Some(run), "but there is one, so not every run is finished");
    drop(one);
    other.resume_run(run, &session()).unwrap();
    assert_eq!(other.load_run(run).unwrap().sessions.len(), 2);
}

/// Asserts that a database is refused with one line and a hint, without a password in either.
fn assert_unusable(url: &str, problem: &str) {
    for opened in [
        Store::open_to_read(Path::new(url)).err(),
        Store::open_or_create(Path::new(url)).err(),
        Store::check_writable(Path::new(url)).err(),
    ] {
        let error = opened.unwrap_or_else(|| panic!("{problem}: it opens"));
        let hint = error.hint.clone().expect("there is a hint");
        assert!(error.problem.contains(problem), "{error}");
        assert_eq!(error.kind, StoreErrorKind::Unusable, "{error}");
        for line in [&error.problem, &hint] {
            assert!(!line.contains('\n'), "{line:?}");
            for part in ["p%40ss", "p@ss", "sesame"] {
                assert!(!line.contains(part), "a password is shown: {line}");
            }
        }
    }
}

#[test]
fn what_cannot_be_connected_to_is_refused_in_one_line() {
    let server = shared();
    let good = format!("{USER}:{PASSWORD_IN_URL}");
    assert_unusable(&server.tcp_url(&format!("{USER}:sesame"), "postgres"), "the user or the password is wrong");
    assert_unusable(&server.tcp_url("nobody:sesame", "postgres"), "the user or the password is wrong");
    assert_unusable(&server.tcp_url(&good, "none"), "the server has no database of that name");
    assert_unusable("postgres://x:sesame@127.0.0.1:1/x", "Connection refused");
    let elsewhere = "postgres://x:sesame@host.invalid/x";
    assert_unusable(
        &format!("{elsewhere}?sslmode=prefer"),
        "the connection to postgres://x@host.invalid/x might not be",
    );
    assert_unusable(&format!("{elsewhere}?sslmode=sesame"), "has an `sslmode` that is not supported");
    assert_unusable(&format!("{elsewhere}?sslrootcert=/nowhere"), "cannot read the certificates in /nowhere");
    let trusted = format!("{elsewhere}?sslmode=disable");
    assert_unusable(&trusted, "cannot connect to the database postgres://x@host.invalid/x: failed to lookup address");
    assert_unusable(&format!("{}?sslmode=require", server.tcp_url(&good, "postgres")), "the server does not encrypt");
    assert_unusable("postgres://x:sesame@/x?host=/nowhere&sslmode=require", "uses a Unix socket");
    assert_unusable("postgres://x:sesame@/x?host=/nowhere", "cannot connect");
    for url in
        ["postgres://", "postgres://x:sesame@h:port/x", "postgresql://x:p@ss@h/x", "postgres://x:sesame@h/x?sesame=1"]
    {
        assert_unusable(url, "the URL of the database");
    }
    assert_unusable("postgres://x:sesame@localhost", "names no database");
    // The password of the URL is taken, and never shown.
    let place = TestDatabase::schema();
    let options = place.db.to_str().unwrap().split("options=").nth(1).unwrap().to_owned();
    let url = format!("{}?options={options}", server.tcp_url(&good, "postgres"));
    let store = Store::open_or_create(Path::new(&url)).unwrap();
    assert_eq!(store.name(), format!("postgres://{USER}@127.0.0.1:{}/postgres", server.port()));
    for part in ["p@ss", PASSWORD_IN_URL] {
        assert!(!format!("{store:?}").contains(part), "{store:?}");
    }
}

/// A certificate authority, and a certificate with key that it issued for `localhost`, in PEM.
fn authority() -> (String, String, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = authority.self_signed(&key).unwrap().pem();
    let of_server = KeyPair::generate().unwrap();
    let names = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = names.signed_by(&of_server, &Issuer::new(authority, key)).unwrap();
    (own, certificate.pem(), of_server.serialize_pem())
}

#[test]
fn connections_are_encrypted_and_the_certificate_is_checked() {
    let (directory, server) = (tempfile::tempdir().unwrap(), Server::start());
    let (ours, theirs) = (directory.path().join("ours.pem"), directory.path().join("theirs.pem"));
    let (authority_of_server, certificate, key) = authority();
    std::fs::write(&ours, authority_of_server).unwrap();
    std::fs::write(&theirs, authority().0).unwrap();
    server.encrypt(&certificate, &key);
    let url = |host: &str, options: &str| {
        let login = format!("{USER}:{PASSWORD_IN_URL}");
        format!("{}?{options}", server.tcp_url(&login, "postgres").replace("127.0.0.1", host))
    };
    let verified = |roots: &Path| format!("sslmode=verify-full&sslrootcert={}", roots.display());
    let mut client = postgres::Client::connect(&server.url("postgres", "public"), postgres::NoTls).unwrap();
    let mut is_encrypted = || -> Vec<bool> {
        let query =
            "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'faultline%'";
        client.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    for (options, expected) in
        [(verified(&ours), true), ("sslmode=require".to_owned(), true), ("sslmode=disable".to_owned(), false)]
    {
        let store = Store::open_or_create(Path::new(&url("localhost", &options))).unwrap();
        assert_eq!(is_encrypted(), [expected], "{options}");
        drop(store);
        let until = Instant::now() + Duration::from_secs(20);
        while !is_encrypted().is_empty() {
            assert!(Instant::now() < until, "the session does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
    // Another name, and another authority.
    assert_unusable(&url("127.0.0.1", &verified(&ours)), "invalid peer certificate");
    assert_unusable(&url("localhost", &verified(&theirs)), "invalid peer certificate");
    let required = format!("sslmode=require&sslrootcert={}", theirs.display());
    assert_unusable(&url("localhost", &required), "invalid peer certificate");
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    // Accepts connections, reads, and never answers.
    thread::spawn(move || {
        for stream in silent.incoming().flatten() {
            thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    let begun = Instant::now();
    assert_unusable(&format!("postgres://x:sesame@127.0.0.1:{port}/x?connect_timeout=1"), "no answer within 1 s");
    assert!(begun.elapsed() < Duration::from_secs(9), "three attempts of one second each");
}

#[test]
fn other_tables_and_other_versions_are_left_alone() {
    let foreign = TestDatabase::schema();
    foreign.sql("CREATE TABLE cats (name TEXT)");
    assert_unusable(foreign.db.to_str().unwrap(), "is a database of another program");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()";
    assert_eq!(foreign.postgres().query_one(tables, &[]).unwrap().get::<_, i64>(0), 1);

    for schema in [0, 16] {
        let place = TestDatabase::schema();
        place.store();
        place.sql(&format!("UPDATE faultline_schema SET version = {schema}"));
        let problem = format!("has schema {schema}; this version of Faultline uses schema 2");
        assert_unusable(place.db.to_str().unwrap(), &problem);
    }

    let empty = TestDatabase::schema();
    for opened in [Store::open_to_read(&empty.db), Store::open_existing(&empty.db)] {
        assert!(opened.unwrap_err().problem.starts_with("there is no database at postgres://"));
    }
    assert!(Store::open_to_read_if_there(&empty.db).unwrap().is_none());
    Store::check_writable(&empty.db).unwrap();
    assert!(Store::open_to_read_if_there(&empty.db).unwrap().is_none(), "a check makes nothing");
}

#[test]
fn who_may_only_read_reads() {
    let place = TestDatabase::schema();
    let mut store = place.store();
    let run = begin(&mut store, 1);
    let schema = place.db.to_str().unwrap().rsplit("%3D").next().unwrap().to_owned();
    let guest = format!("guest_of_{schema}");
    place.sql(&format!(
        "CREATE ROLE {guest} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {guest}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {guest}"
    ));
    let url = place.db.to_str().unwrap().replace(&format!("{USER}@"), &format!("{guest}@"));
    let mut guest = Store::open_to_read(Path::new(&url)).unwrap();
    assert_eq!(guest.load_run(run).unwrap(), store.load_run(run).unwrap());
    let refused = guest.finish_run(run).unwrap_err();
    assert!(refused.problem.contains("permission denied") && refused.kind == StoreErrorKind::Unusable, "{refused}");
    let refused = Store::check_writable(Path::new(&url)).unwrap_err();
    assert!(refused.problem.contains("may not write") && refused.kind == StoreErrorKind::Unusable, "{refused}");
}

#[test]
fn both_kinds_of_database_have_the_same_tables() {
    let (file, schema) = (TestDatabase::file(), TestDatabase::schema());
    drop((file.store(), schema.store()));
    let columns_of = |texts: Vec<String>| {
        let mut columns = texts;
        columns.sort();
        columns
    };
    let sqlite = file.sqlite();
    let query = "SELECT t.name || '.' || c.name || CASE WHEN c.\"notnull\" OR c.pk > 0 THEN '!' ELSE '' END
                 FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'";
    let mut statement = sqlite.prepare(query).unwrap();
    let of_file = columns_of(statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect());
    let query = "SELECT table_name || '.' || column_name || CASE WHEN is_nullable = 'NO' THEN '!' ELSE '' END
                 FROM information_schema.columns WHERE table_schema = current_schema() AND table_name <> 'faultline_schema'";
    let rows = schema.postgres().query(query, &[]).unwrap();
    assert_eq!(columns_of(rows.iter().map(|row| row.get(0)).collect()), of_file);
}
