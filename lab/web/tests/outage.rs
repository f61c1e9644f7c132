//! A temporarily unreadable database: requests are refused with a hint, and succeed afterwards.

use crate::filled;
use crate::postgres::{PASSWORD, PASSWORD_IN_URL, Server, USER};
use crate::served::{Answer, Served};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Requests the histories until the answer has a status. The server keeps a read for some seconds.
fn histories_once(status: u16, served: &Served) -> Answer {
    let until = Instant::now() + Duration::from_secs(90);
    loop {
        let answer = served.get("/api/v1/histories");
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < until, "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_outage_of_the_database_server_is_no_deletion() {
    let mut server = Server::start();
    let database: PathBuf = server.tcp_url(&format!("{USER}:{PASSWORD_IN_URL}"), "postgres").into();
    filled::fill(&database, false);
    let served = Served::over(database, None, &[]);
    let before = served.get("/api/v1/histories");
    assert_eq!((before.status, before.json()["histories"].as_array().unwrap().len()), (200, 3));
    let history = format!("/histories/{}", before.json()["histories"][0]["id"].as_str().unwrap());

    server.kill();
    histories_once(503, &served);
    for target in
        ["/api/v1/histories", "/api/v1/runs/1", "/api/v1/runs/1/executions", "/api/v1/compare?a=1&b=2", "/", &history]
    {
        let refused = served.get(target);
        assert_eq!(refused.status, 503, "{target}: {refused:?}");
        assert!(refused.head.contains("retry-after:"), "{refused:?}");
        assert!(refused.body.contains("the database cannot be read at the moment"), "{refused:?}");
        assert!(refused.body.contains("retry later"), "{refused:?}");
        assert!(!refused.body.contains("postgres"), "{refused:?}");
    }
    let said = served.said.lock().unwrap().join("\n");
    assert!(said.contains(&format!("cannot connect to the database postgres://{USER}@127.0.0.1:")), "{said}");
    assert!(!said.contains(PASSWORD) && !said.contains(PASSWORD_IN_URL), "{said}");

    server.start_again();
    let after = histories_once(200, &served);
    assert_eq!(after.json(), before.json());
    let missing = served.get("/api/v1/runs/77");
    assert_eq!((missing.status, missing.json()["error"].as_str()), (404, Some("there is no run 77 in the database")));
}
