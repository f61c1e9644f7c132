//! A chain of network namespaces on this host, with a veth link between neighbours; those in the
//! middle forward.
//!
//! A separate process makes and holds them (`holder`), under a keeper. They have no names: the
//! kernel removes them with the last process in them, so none survives.

use super::holder::{self, Line};
use super::{Attachment, Connection, Made, Network, NetworkEnd, Partner, made};
use crate::host::HostPaths;
use crate::keep::{End, Ended, Grace, Kept, Output, Program};
use crate::{StopFlag, TargetError};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time limit for making the namespaces, which takes about 100 ms.
const LIMIT: Duration = Duration::from_secs(30);

/// Time limit for holding them, longer than any execution.
const HELD_LIMIT: Duration = Duration::from_secs(30 * 24 * 3600);

const OUTPUT: Output = Output { longest_line: 4096, stderr_bytes: 4096 };

/// Makes chains of network namespaces.
#[derive(Debug)]
pub struct Namespaces {
    paths: HostPaths,
}

impl Namespaces {
    /// Fails if this system or this user cannot have such namespaces: makes three and removes them
    /// at once.
    pub fn new(paths: HostPaths, stop: &StopFlag) -> Result<Self, TargetError> {
        const ENDS: usize = 3;
        match start(&paths, ENDS, stop) {
            Ok(_) => Ok(Namespaces { paths }),
            Err(problem) => Err(TargetError { hint: holder::hint(&problem).to_owned(), problem }),
        }
    }
}

impl Network for Namespaces {
    fn make(&self, _: Option<Connection>, partners: &[Partner<'_>], stop: &StopFlag) -> Result<Made, String> {
        let (places, holding) = start(&self.paths, 1 + partners.len(), stop)?;
        Ok(made(partners, &places, Box::new(holding)))
    }
}

/// Starts a holder of that many namespaces.
fn start(paths: &HostPaths, ends: usize, stop: &StopFlag) -> Result<(Vec<NetworkEnd>, Holding), String> {
    let arguments = |_: &Path| vec![holder::ARGUMENT.into(), ends.to_string().into()];
    let kept = Kept::start(&Program {
        keeper: &paths.keeper,
        scratch: &paths.scratch,
        file: &paths.keeper,
        arguments: &arguments,
        output: OUTPUT,
        directory: None,
        waiting_is_free: false,
        grace: Grace::NONE,
        ours: None,
        environment: &[],
        system_settings: &[],
        namespace: None,
        sandbox: None,
    })?;
    let over = stop.below();
    let (sender, said) = channel();
    let flag = over.clone();
    let thread = thread::spawn(move || hold(kept, &sender, &flag));
    let holding = Holding { over, thread: Some(thread) };
    let mut places = Vec::new();
    loop {
        match said.recv_timeout(LIMIT) {
            Ok(Line::End { namespace, addresses }) => {
                places.push(NetworkEnd { addresses, attachment: Attachment::Namespace(namespace) });
            }
            Ok(Line::Ready) => return Ok((places, holding)),
            Ok(Line::Refused(problem)) => return Err(problem),
            Err(_) if stop.is_set() => return Err("it was stopped".to_owned()),
            Err(error) => return Err(not_ready(error)),
        }
    }
}

/// Error for a holder that ended before it was ready.
fn not_ready(error: RecvTimeoutError) -> String {
    match error {
        RecvTimeoutError::Timeout => format!("the network was not ready within {} s", LIMIT.as_secs()),
        RecvTimeoutError::Disconnected => "the process that makes the network ended before it was ready".to_owned(),
    }
}

/// Follows the holder until it ends, and passes on its lines.
fn hold(kept: Kept, said: &Sender<Line>, over: &StopFlag) {
    let mut sink = |line: &[u8], _: &mut _| {
        let line = Line::read(&String::from_utf8_lossy(line));
        let is_heard = line.is_some_and(|line| said.send(line).is_ok());
        if is_heard { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let Ended { end, stderr, .. } = kept.follow(HELD_LIMIT, &mut sink, over);
    let problem = match end {
        End::Stopped | End::TimedOut => return,
        End::Refused => "the process that makes the network printed an unexpected line".to_owned(),
        End::NotStarted(text) => text,
        End::KeeperKilled => "the keeper of the network was killed".to_owned(),
        End::Exited(_) | End::Signalled(_) => format!("cannot create the network: {}", stderr.trim_end()),
    };
    // The receiver is gone if the network was ready.
    let _ = said.send(Line::Refused(problem));
}

/// A running holder. Dropping it ends the holder and removes all namespaces.
struct Holding {
    over: StopFlag,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.over.set();
        if let Some(thread) = self.thread.take() {
            // Fails if the thread panicked, which has been reported.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_that_ended_is_not_called_slow() {
        let (sender, said) = channel::<Line>();
        let next =
            |said: &std::sync::mpsc::Receiver<Line>| said.recv_timeout(Duration::from_millis(1)).map_err(not_ready);
        assert_eq!(next(&said), Err("the network was not ready within 30 s".to_owned()));
        drop(sender);
        assert_eq!(next(&said), Err("the process that makes the network ended before it was ready".to_owned()));
    }
}
