//! What we call ourselves in the server's list of sessions, so that whoever holds a lock can be named.

/// What precedes the process and its machine.
const PROGRAM: &str = "faultline, ";

/// Our name: the machine and the process.
pub(super) fn own() -> String {
    // The server cuts a name off after 63 bytes.
    const MACHINE_BYTES: usize = 32;
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_string_lossy();
    let machine: String = machine.chars().filter(char::is_ascii_graphic).take(MACHINE_BYTES).collect();
    format!("{PROGRAM}process {} on {machine}", std::process::id())
}

/// The process and the machine of a session with that name; the name itself if it is another program's.
pub(super) fn of_session(name: &str) -> String {
    match name {
        "" => "another session".to_owned(),
        name => name.strip_prefix(PROGRAM).unwrap_or(name).to_owned(),
    }
}
