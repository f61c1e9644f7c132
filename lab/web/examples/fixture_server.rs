//! Serves a made-up database on a free port of loopback until standard input ends, for the browser
//! tests. Prints the address. With a directory, first writes the pages there as files. With
//! `--token`, needs a token, which is printed after the address.
//!
//! `cargo run -p faultline-web --example fixture_server -- [DIR | --token]`

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/filled/mod.rs"]
mod filled;

use faultline_experiment::Places;
use faultline_web::{DeclaredQuirks, ExportRequest, NewToken, ServeRequest, Server, Tokens, export_site};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let database = directory.path().join("db.sqlite");
    filled::fill(&database, true);
    filled::add_moved(&database);
    filled::add_growing(&database);
    let places = Places { database: Some(database), ..Places::find()? };
    let argument = std::env::args_os().nth(1);
    let asks_for_token = argument.as_ref().is_some_and(|argument| argument == "--token");
    if let Some(site) = argument.filter(|_| !asks_for_token) {
        let quirks = &DeclaredQuirks::default();
        export_site(
            &ExportRequest { directory: Path::new(&site), quirks, comparisons: 150, executions: 1000 },
            &places,
        )?;
    }
    let file = directory.path().join("tokens");
    let token = if asks_for_token { NewToken::add_to(&file)?.token } else { String::new() };
    let request = ServeRequest {
        listen: "127.0.0.1:0".parse()?,
        name: None,
        tokens: asks_for_token.then(|| Tokens::read(&file)).transpose()?,
        hosts: Vec::new(),
        quirks: DeclaredQuirks::default(),
        log: Arc::new(|line: &str| eprintln!("{line}")),
    };
    let server = Server::bind(request, places)?;
    println!("http://{} {token}", server.address());
    let stop = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        // Relaxed: the flag alone is passed.
        ended.store(true, Ordering::Relaxed);
    });
    server.run(move || stop.load(Ordering::Relaxed))?;
    Ok(())
}
