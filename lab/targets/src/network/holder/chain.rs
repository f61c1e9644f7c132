//! Makes the namespaces of a chain: one per thread, links between neighbours, addresses, routes,
//! and forwarding in the middle.

use super::super::{IPV4_PREFIX, IPV6_PREFIX, LinkAddress, Side};
use super::{Line, NO_IP, NOT_ALLOWED};
use crate::search_path::program_file;
use rustix::io::Errno;
use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Devices: towards the measured execution, and away from it.
const BACK: &str = "back";
const ON: &str = "on";

/// Directories of `ip` that users often lack in `PATH`.
const FURTHER: [&str; 2] = ["/usr/sbin/ip", "/sbin/ip"];

/// Addresses of the calling thread's namespace; missing without IPv6.
const IPV6_ADDRESSES: &str = "/proc/thread-self/net/if_inet6";

/// Flag of an address that is not usable yet (`IFA_F_TENTATIVE`).
const TENTATIVE: u32 = 0x40;

/// Time limit until addresses are usable.
const ADDRESS_LIMIT: Duration = Duration::from_secs(10);

/// The namespaces, for the life of the process.
pub(super) struct Chain {
    ends: Vec<End>,
    has_ipv6: bool,
}

/// One end: a thread in a namespace of its own, which executes commands.
struct End {
    thread: i32,
    jobs: Sender<Job>,
    done: Receiver<Result<(), String>>,
}

type Job = Box<dyn FnOnce() -> Result<(), String> + Send>;

impl End {
    fn new() -> Result<Self, String> {
        let (jobs, to_do) = channel::<Job>();
        let (says, done) = channel();
        let (began, begins) = channel();
        thread::spawn(move || {
            let entered = enter_new_namespace();
            let is_in = entered.is_ok();
            let _ = began.send(entered.map(|()| gettid().as_raw_nonzero().get()));
            // The sender is never dropped, so the thread and the namespace stay.
            while is_in && let Ok(job) = to_do.recv() {
                let _ = says.send(job());
            }
        });
        let thread = begins.recv().map_err(|_| "a thread of the network ended".to_owned())??;
        Ok(End { thread, jobs, done })
    }

    fn run(&self, job: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), String> {
        let gone = || "a thread of the network ended".to_owned();
        self.jobs.send(Box::new(job)).map_err(|_| gone())?;
        self.done.recv().map_err(|_| gone())?
    }

    /// Runs `ip` in the namespace.
    fn ip(&self, program: &Path, words: &str) -> Result<(), String> {
        let (program, words) = (program.to_owned(), words.to_owned());
        self.run(move || {
            // A child process has the namespace of the thread that starts it.
            let output = Command::new(program).args(words.split(' ')).stdin(Stdio::null()).output();
            let output = output.map_err(|error| format!("ip {words}: {error}"))?;
            if output.status.success() {
                return Ok(());
            }
            Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim_end()))
        })
    }

    /// Writes a setting of the namespace.
    fn set(&self, path: &'static str, value: &'static str) -> Result<(), String> {
        self.run(move || std::fs::write(path, value).map_err(|error| format!("{path}: {error}")))
    }
}

fn enter_new_namespace() -> Result<(), String> {
    // SAFETY:
    // 1. The flag gives this thread another network namespace, and takes nothing that threads share
    //    and that Rust relies on, as descriptors would be.
    // 2. Sockets that exist keep the namespace in which they were made.
    match unsafe { unshare_unsafe(UnshareFlags::NEWNET) } {
        Ok(()) => Ok(()),
        Err(error @ (Errno::PERM | Errno::ACCESS)) => Err(format!("{NOT_ALLOWED}: {error}")),
        Err(error) => Err(format!("no network namespace: {error}")),
    }
}

fn ip_program() -> Result<PathBuf, String> {
    let found = program_file("ip", Path::new("/"), None::<&OsStr>).ok();
    let further = FURTHER.iter().map(PathBuf::from).find(|file| file.is_file());
    found.or(further).ok_or_else(|| NO_IP.to_owned())
}

/// Makes a chain of that many ends. Fails with a text.
pub(super) fn make(ends: usize) -> Result<Chain, String> {
    let first = End::new()?;
    let program = ip_program()?;
    let mut all = vec![first];
    while all.len() < ends {
        all.push(End::new()?);
    }
    let has_ipv6 = Path::new(IPV6_ADDRESSES).exists();
    for end in &all {
        end.ip(&program, "link set lo up")?;
        if has_ipv6 {
            // These links have no other hosts. The search for duplicate addresses would lose the
            // packets of the first seconds.
            end.set("/proc/sys/net/ipv6/conf/default/accept_dad", "0")?;
            end.set("/proc/sys/net/ipv6/conf/default/dad_transmits", "0")?;
        }
    }
    for (link, pair) in all.windows(2).enumerate() {
        let [near, far] = pair else { continue };
        // If both devices had the same number, the kernel would take a second to notice that the
        // link is up.
        let (near_number, far_number) = (100 + link, 300 + link);
        let peer = format!("peer name {BACK} index {far_number} netns {}", far.thread);
        near.ip(&program, &format!("link add {ON} index {near_number} type veth {peer}"))?;
        for (end, device, side) in [(near, ON, Side::Near), (far, BACK, Side::Far)] {
            set_up(&program, end, device, &LinkAddress::of(link, side), has_ipv6)?;
        }
    }
    let chain = Chain { ends: all, has_ipv6 };
    chain.forward()?;
    chain.route(&program)?;
    chain.ends.iter().try_for_each(|end| end.run(await_addresses))?;
    Ok(chain)
}

/// Waits until the kernel uses all IPv6 addresses, some time after it has noticed that the links
/// are up.
fn await_addresses() -> Result<(), String> {
    let until = Instant::now() + ADDRESS_LIMIT;
    while std::fs::read_to_string(IPV6_ADDRESSES).is_ok_and(|text| text.lines().any(is_tentative)) {
        if Instant::now() > until {
            return Err(format!("IPv6 was not ready within {} s", ADDRESS_LIMIT.as_secs()));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Fields of a line: address, number of the device, length of the prefix, scope, flags, name.
fn is_tentative(line: &str) -> bool {
    let flags = line.split_whitespace().nth(4).and_then(|field| u32::from_str_radix(field, 16).ok());
    flags.is_some_and(|flags| flags & TENTATIVE != 0)
}

fn set_up(program: &Path, end: &End, device: &str, address: &LinkAddress, has_ipv6: bool) -> Result<(), String> {
    end.ip(program, &format!("addr add {}/{IPV4_PREFIX} dev {device}", address.ipv4))?;
    if has_ipv6 {
        end.ip(program, &format!("addr add {}/{IPV6_PREFIX} dev {device}", address.ipv6))?;
    }
    end.ip(program, &format!("link set {device} up"))
}

impl Chain {
    /// The ends between the first and the last forward.
    fn forward(&self) -> Result<(), String> {
        let inner = 1..self.ends.len().max(2) - 1;
        for end in &self.ends[inner] {
            end.set("/proc/sys/net/ipv4/ip_forward", "1")?;
            if self.has_ipv6 {
                end.set("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
            }
        }
        Ok(())
    }

    /// Every end reaches all others: packets for links of other ends are sent in their direction.
    fn route(&self, program: &Path) -> Result<(), String> {
        let links = self.ends.len() - 1;
        for (number, end) in self.ends.iter().enumerate() {
            for link in 0..links {
                // The end's own links are number - 1 and number.
                let next = if link > number {
                    LinkAddress::of(number, Side::Far)
                } else if link + 1 < number {
                    LinkAddress::of(number - 1, Side::Near)
                } else {
                    continue;
                };
                let to = LinkAddress::of(link, Side::Near);
                end.ip(program, &format!("route add {}/{IPV4_PREFIX} via {}", network_of(&to.ipv4), next.ipv4))?;
                if self.has_ipv6 {
                    end.ip(program, &format!("-6 route add {}/{IPV6_PREFIX} via {}", to.ipv6, next.ipv6))?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let process = std::process::id();
        let end = |(number, end): (usize, &End)| Line::End {
            namespace: PathBuf::from(format!("/proc/{process}/task/{}/ns/net", end.thread)),
            addresses: LinkAddress::of_end(number).list(self.has_ipv6),
        };
        self.ends.iter().enumerate().map(end).chain([Line::Ready]).collect()
    }
}

/// First address of a link's block, which `ip` expects in a route.
fn network_of(ipv4: &str) -> String {
    ipv4.rsplit_once('.').map_or_else(|| ipv4.to_owned(), |(block, _)| format!("{block}.0"))
}
