//! Refusals: foreign names, missing tokens, writes, and invalid or too long requests.

use crate::changes::{list, with_token};
use crate::filled;
use crate::served::{Served, places};
use faultline_web::{DeclaredQuirks, NewToken, ServeRequest, Server, Tokens};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn foreign_names_are_refused_before_anything_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tokens");
    let by_token = format!("Authorization: Bearer {}", NewToken::add_to(&file).unwrap().token);
    let served = Served::with(false, Some(Tokens::read(&file).unwrap()), &["lab.example"]);
    for host in ["127.0.0.1", "localhost:80", "lab.example", "LAB.example:443", "lab-pc:8710"] {
        assert_eq!(served.ask("GET", "/api/v1/health", &[&format!("Host: {host}"), &by_token]).status, 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "192.0.2.1", "", "localhost@evil.example"] {
        assert_eq!(served.ask("GET", "/api/v1/health", &[&format!("Host: {host}")]).status, 421, "{host}");
    }
    let two = served.ask("GET", "/api/v1/health", &["Host: localhost", "Host: localhost"]);
    assert_eq!(two.status, 421);
    assert_eq!(served.ask("GET", "http://evil.example/api/v1/health", &[]).status, 421);
    let none = served.raw(b"GET /api/v1/health HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert!([400, 421].contains(&none.status), "{none:?}");
}

#[test]
fn with_tokens_reading_needs_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tokens");
    let token = NewToken::add_to(&file).unwrap().token;
    let served = Served::with(false, Some(Tokens::read(&file).unwrap()), &[]);
    let ask = |header: &str| served.ask("GET", "/api/v1/runs/1", &[header]);
    let refused = served.get("/api/v1/runs/1");
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("www-authenticate: basic"));
    assert!(!refused.body.contains("zero_fill"));
    assert_eq!(ask(&format!("Authorization: Bearer {token}")).status, 200);
    assert_eq!(ask(&format!("authorization: bearer {token}")).status, 200);
    let basic = |user: &str, password: &str| format!("Authorization: Basic {}", base64(&format!("{user}:{password}")));
    assert_eq!(ask(&basic("anyone", &token)).status, 200);
    for wrong in [
        basic(&token, "x"),
        basic("x", &token[1..]),
        format!("Authorization: Bearer {}0", &token[1..]),
        "Authorization: Bearer".into(),
        "Authorization: Basic %%%".into(),
    ] {
        assert_eq!(ask(&wrong).status, 401, "{wrong}");
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn whatever_the_api_refuses_is_json_and_whatever_the_pages_refuse_is_a_page() {
    let (served, token) = with_token("");
    let id = list(&served.ask("GET", "/api/v1/changes", &[&token]))[0]["history"].as_str().unwrap().to_owned();
    let token = token.as_str();
    let refused = |method: &str, target: &str, headers: &[&str], status: u16| {
        let answer = served.ask(method, target, &[&["Content-Length: 0"], headers].concat());
        assert_eq!(answer.status, status, "{method} {target}: {answer:?}");
        let kind = answer.header("content-type").unwrap_or_default();
        if target == "/api" || target.starts_with("/api/") {
            let told = answer.json();
            assert!(kind == "application/json" && told["error"].is_string(), "{method} {target}: {answer:?}");
            assert!(told["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{method} {target}: {told}");
        } else {
            let is_page = answer.body.contains("<h1>Error") && answer.body.contains("Hint: ");
            assert!(kind.starts_with("text/html") && is_page, "{method} {target}: {answer:?}");
        }
        answer
    };
    for path in ["/histories/%FF", "/runs/%FF", "/runs/1/executions/%C3%28"] {
        refused("GET", path, &[token], 400);
        refused("GET", &format!("/api/v1{path}"), &[token], 400);
    }
    for target in [
        format!("/api/v1/histories/{id}/steps%FF"),
        format!("/api/v1/histories/{id}%FF/timeline"),
        "/api/%FF".to_owned(),
    ] {
        refused("GET", &target, &[token], 400);
    }
    refused("POST", "/api/v1/jobs/%FF/withdraw", &[token], 400);
    for target in ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/runs", "/api/v1/nowhere", "/nowhere", "/apis"] {
        refused("GET", target, &[token], 404);
    }
    for target in ["/api/v1/runs", "/runs", "/", "/jobs"] {
        let told = refused("POST", target, &[token], 405);
        assert!(told.body.contains("this address only answers GET and HEAD"), "{told:?}");
        assert_eq!(told.header("allow"), Some("get,head"), "{told:?}");
        refused("DELETE", target, &[token], 405);
        refused("GET", target, &[], 401);
        refused("GET", target, &[token, "Host: evil.example"], 421);
    }
    let told = refused("GET", &format!("/api/v1/histories/{id}/jobs"), &[token], 405);
    assert_eq!(told.json()["error"], "this address only answers POST");
    assert_eq!(told.header("allow"), Some("post"));
}

#[test]
fn nothing_but_reading_is_possible_and_no_answer_can_be_framed_or_executed() {
    let served = Served::new(false);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        assert_eq!(served.ask(method, "/api/v1/runs/1", &["Content-Length: 0"]).status, 405, "{method}");
    }
    let head = served.ask("HEAD", "/api/v1/runs/1", &[]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for target in ["/api/v1/runs", "/api/v1/runs/99", "/nowhere"] {
        let answer = served.get(target);
        for told in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(answer.head.contains(told), "{target}: {told}: {}", answer.head);
        }
        assert!(!answer.head.contains("access-control-allow"), "{}", answer.head);
    }
}

#[test]
fn odd_requests_get_a_clear_refusal_and_no_insight() {
    let served = Served::new(false);
    let traversals = [
        "/../../etc/passwd",
        "/api/v1/../../../etc/passwd",
        "/api/v1/runs/..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/api/v1/runs/1/../../../../etc/passwd",
    ];
    let numbers = [
        "/api/v1/runs/-1",
        "/api/v1/runs/0",
        "/api/v1/runs/1e3",
        "/api/v1/runs/99999999999999999999",
        "/api/v1/runs/1%00",
        "/api/v1/runs/%ff",
        "/api/v1/runs/1%27%20OR%201=1",
        "/api/v1/runs/%3Cscript%3Ealert(1)%3C/script%3E",
    ];
    let queries = [
        "/api/v1/runs?limit=0",
        "/api/v1/runs?limit=1001",
        "/api/v1/runs?limit=%00",
        "/api/v1/runs?before=%27%3BDROP%20TABLE%20run%3B--",
        "/api/v1/runs?limit=1&limit=2",
        "/api/v1/histories/x?y",
    ];
    for target in traversals.iter().chain(&numbers).chain(&queries) {
        let answer = served.get(target);
        assert!((400..500).contains(&answer.status), "{target}: {answer:?}");
        for insight in ["root:", "panicked", "src/", ".rs:", "sqlite", served.database.to_str().unwrap()] {
            assert!(!answer.body.contains(insight), "{target}: {}", answer.body);
        }
    }
    let long = format!("/api/v1/runs?limit={}", "1".repeat(60_000));
    assert!([400, 414, 431].contains(&served.get(&long).status));
    let heavy = format!("X-Heavy: {}", "x".repeat(60_000));
    assert_eq!(served.ask("GET", "/api/v1/runs", &[&heavy]).status, 431);
    let garbage = served.raw(b"\x16\x03\x01 not http\r\n\r\n");
    assert!([0, 400].contains(&garbage.status), "{garbage:?}");
    assert_eq!(served.get("/api/v1/health").status, 200);
    assert!(served.said.lock().unwrap().is_empty(), "{:?}", served.said);
}

#[test]
fn a_client_that_reads_nothing_is_given_up() {
    const REQUESTS: usize = 300;
    let served = Served::new(true);
    let histories = served.get("/api/v1/histories").json();
    let long = histories["histories"].as_array().unwrap().iter().find(|one| one["subject"] == "long").unwrap();
    let target = format!("/api/v1/histories/{}/timeline?from=0&to=4000", long["id"].as_str().unwrap());
    let length = served.get(&target).body.len();
    let mut stream = TcpStream::connect(served.address).unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.repeat(REQUESTS).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(25));
    // Data that the system accepted arrive before the connection ends.
    let mut read = 0;
    let mut part = [0; 1 << 16];
    while let Ok(bytes @ 1..) = stream.read(&mut part) {
        read += bytes;
    }
    assert!(read < length * REQUESTS, "{read} bytes of {REQUESTS} answers of {length}");
    assert_eq!(served.get("/api/v1/health").status, 200);
}

#[test]
fn beyond_this_machine_it_listens_only_with_a_token() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db.sqlite");
    filled::fill(&database, false);
    let request = |listen: &str, tokens| ServeRequest {
        listen: listen.parse().unwrap(),
        name: None,
        tokens,
        hosts: Vec::new(),
        quirks: DeclaredQuirks::default(),
        log: Arc::new(|_: &str| {}),
    };
    let refused = Server::bind(request("0.0.0.0:0", None), places(database.clone())).err().unwrap();
    assert!(refused.problem.contains("without a token"), "{refused:?}");
    let by_proxy = ServeRequest { hosts: vec!["lab.example".to_owned()], ..request("127.0.0.1:0", None) };
    let refused = Server::bind(by_proxy, places(database.clone())).err().unwrap();
    assert!(refused.problem.contains("proxy") && refused.problem.contains("without a token"), "{refused:?}");
    let file = directory.path().join("tokens");
    NewToken::add_to(&file).unwrap();
    let tokens = Some(Tokens::read(&file).unwrap());
    assert!(Server::bind(request("0.0.0.0:0", tokens), places(database.clone())).is_ok());
    let taken = Server::bind(request("127.0.0.1:0", None), places(database.clone())).unwrap();
    let again = Server::bind(request(&taken.address().to_string(), None), places(database)).err().unwrap();
    assert!(again.problem.starts_with("cannot listen on 127.0.0.1:"), "{again:?}");
    let nothing = Server::bind(request("127.0.0.1:0", None), places("/nowhere/db.sqlite".into())).err().unwrap();
    assert!(nothing.problem.contains("/nowhere/db.sqlite"), "{nothing:?}");
}

#[test]
fn clients_that_send_no_request_keep_no_others_out() {
    const SILENT: usize = 1_100;
    // Both ends of each connection are files of this process.
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let enough = rustix::process::Rlimit { current: files.maximum, ..files };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, enough).unwrap();
    if files.maximum.is_some_and(|most| most < 4 * SILENT as u64) {
        println!("skipped: the process may open too few files");
        return;
    }
    let served = Served::new(false);
    let silent: Vec<TcpStream> = (0..SILENT)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    let asked = std::time::Instant::now();
    assert_eq!(served.get("/api/v1/health").status, 200);
    // Far longer than an answer takes, and shorter than the time limit for the head of a request.
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    let mut oldest = &silent[0];
    oldest.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // Closed: the end of the stream, or a reset.
    assert_eq!(oldest.read(&mut [0; 1]).unwrap_or(0), 0);
}
