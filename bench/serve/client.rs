//! Plain requests over HTTP, whose answers may be compressed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Time limit for an answer.
const LIMIT: Duration = Duration::from_secs(120);

pub struct Answer {
    pub status: u16,
    /// The body as received, possibly compressed.
    pub body: Vec<u8>,
    /// The target, if no compression was requested.
    address: SocketAddr,
    target: String,
}

/// Requests a target, and reads the whole answer.
pub fn get(address: SocketAddr, target: &str) -> Answer {
    let (status, body) = ask(address, target, "gzip");
    Answer { status, body, address, target: target.to_owned() }
}

/// Requests a target with a JSON answer. Retries while the server is reading its database.
pub fn json(address: SocketAddr, target: &str) -> serde_json::Value {
    loop {
        let (status, body) = ask(address, target, "identity");
        if status == 200 {
            return serde_json::from_slice(&body).expect("JSON");
        }
        assert_eq!(status, 503, "{target}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

impl Answer {
    /// The script and style targets of the page.
    pub fn assets(&self) -> Vec<String> {
        let (_, body) = ask(self.address, &self.target, "identity");
        let text = String::from_utf8_lossy(&body).into_owned();
        let head = text.split("</head>").next().unwrap_or_default();
        let names = head.split('"').filter(|part| part.starts_with("/assets/"));
        names.map(str::to_owned).collect()
    }
}

fn ask(address: SocketAddr, target: &str, encoding: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a socket has a time limit");
    let head =
        format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAccept-Encoding: {encoding}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("the server reads");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the server answers");
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("an answer has a head");
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = &bytes[end + 4..];
    let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_vec() };
    (status, body)
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let length = std::str::from_utf8(&body[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(length) = length.filter(|length| *length > 0) else { break };
        whole.extend_from_slice(&body[end + 2..][..length]);
        body = &body[end + 2 + length + 2..];
    }
    whole
}
