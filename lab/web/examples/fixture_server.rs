//! Serves a made-up database on any free port of loopback, for the browser tests, until its standard input ends. Prints the address. With the name of a
//! directory, first writes its pages there as files.
//!
//! `cargo run -p faultline-web --example fixture_server -- [DIR]`

#[path = "../tests/filled/mod.rs"]
mod filled;

use faultline_experiment::Places;
use faultline_web::{ServeRequest, Server, export_site};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let database = directory.path().join("db.sqlite");
    filled::fill(&database, true);
    let places = Places { database: Some(database), ..Places::find()? };
    if let Some(site) = std::env::args_os().nth(1) {
        export_site(Path::new(&site), &places)?;
    }
    let request = ServeRequest {
        listen: "127.0.0.1:0".parse()?,
        tokens: None,
        hosts: Vec::new(),
        log: Arc::new(|line: &str| eprintln!("{line}")),
    };
    let server = Server::bind(request, places)?;
    println!("http://{}", server.address());
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
