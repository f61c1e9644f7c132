//! State machine that brings a host up with a new artefact: installs it, reboots, waits until
//! another boot answers, and checks that boot. It also finds a host again whose connection was
//! lost. A trait separates it from a real host.

use std::time::Duration;

/// A boot of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostBoot {
    /// The kernel's identifier of the boot.
    pub id: String,
    /// The kernel's release, as `uname -r` prints it.
    pub release: String,
}

/// Reason why a host is not up with the artefact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotUp {
    /// The host could not be reached before anything was done.
    Unreachable(String),
    /// The host key of the system that answers is unknown, or another one.
    Stranger {
        /// One line for people.
        problem: String,
        /// Advice for the user.
        hint: String,
    },
    /// The installation failed.
    NotInstalled(String),
    /// The connection was lost during the installation, which may have ended in any way.
    CutOff(String),
    /// The command to reboot failed.
    NotRebooted(String),
    /// No other boot answered within the limit, even after a power cycle if there is a command for
    /// it.
    NotBack {
        /// The limit of each wait.
        limit: Duration,
        /// The result of the power cycle; `None` without a command for it.
        power_cycled: Option<Result<(), String>>,
    },
    /// The host booted another kernel than the expected one.
    OtherKernel {
        /// The release that was expected.
        expected: String,
        /// The release that booted.
        found: String,
    },
    /// A stop was requested.
    Stopped,
}

/// Reason why no boot answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoBoot {
    /// The host does not answer; the reason.
    Silent(String),
    /// The system that answers may be another host: as [`NotUp::Stranger`]. Waiting does not help.
    Stranger {
        /// One line for people.
        problem: String,
        /// Advice for the user.
        hint: String,
    },
}

impl From<NoBoot> for NotUp {
    fn from(no_boot: NoBoot) -> Self {
        match no_boot {
            NoBoot::Silent(why) => NotUp::Unreachable(why),
            NoBoot::Stranger { problem, hint } => NotUp::Stranger { problem, hint },
        }
    }
}

/// Operations on a host.
pub(super) trait Acts {
    /// The boot that answers now. Fails if none does, or if another system than the host may have
    /// answered.
    fn boot(&mut self) -> Result<HostBoot, NoBoot>;

    /// Installs. Fails if the host cannot be reached, if the connection is lost, or if the
    /// installation fails.
    fn install(&mut self) -> Result<(), NotUp>;

    /// Asks the host to reboot, which may cut the connection. Fails with a text.
    fn reboot(&mut self) -> Result<(), String>;

    /// Switches the host off and on; `None` without a command for it.
    fn power_cycle(&mut self) -> Option<Result<(), String>>;

    /// Waits until the host may be asked again. Fails on a stop.
    fn rest(&mut self) -> Result<(), NotUp>;

    /// Time since any fixed moment.
    fn now(&self) -> Duration;
}

/// The request for a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Time limit for another boot, after the reboot and after a power cycle.
    pub(super) back_limit: Duration,
    /// Release of its kernel; any if `None`.
    pub(super) release: Option<&'a str>,
}

/// The next step. `before`: the identifier of the boot at the beginning.
enum State {
    Begin,
    Install { before: String },
    Reboot { before: String },
    Wait { before: String, until: Duration, power_cycled: Option<Result<(), String>> },
    Check { boot: HostBoot },
    Up { boot: HostBoot },
}

/// Executes all steps. Fails if the host does not come up as requested.
pub(super) fn bring_up(acts: &mut dyn Acts, wanted: &Wanted<'_>) -> Result<HostBoot, NotUp> {
    let mut state = State::Begin;
    loop {
        state = match state {
            State::Up { boot } => return Ok(boot),
            other => step(other, acts, wanted)?,
        };
    }
}

fn step(state: State, acts: &mut dyn Acts, wanted: &Wanted<'_>) -> Result<State, NotUp> {
    match state {
        State::Begin => Ok(State::Install { before: acts.boot()?.id }),
        State::Install { before } => {
            acts.install()?;
            Ok(State::Reboot { before })
        }
        State::Reboot { before } => {
            acts.reboot().map_err(NotUp::NotRebooted)?;
            Ok(State::Wait { before, until: acts.now() + wanted.back_limit, power_cycled: None })
        }
        State::Wait { before, until, power_cycled } => {
            acts.rest()?;
            match acts.boot() {
                Ok(boot) if boot.id != before => Ok(State::Check { boot }),
                Err(stranger @ NoBoot::Stranger { .. }) => Err(stranger.into()),
                Ok(_) | Err(_) if acts.now() < until => Ok(State::Wait { before, until, power_cycled }),
                Ok(_) | Err(_) => {
                    let until = cycle(power_cycled, acts, wanted.back_limit)?;
                    Ok(State::Wait { before, until, power_cycled: Some(Ok(())) })
                }
            }
        }
        State::Check { boot } => match wanted.release {
            Some(expected) if expected != boot.release => {
                Err(NotUp::OtherKernel { expected: expected.to_owned(), found: boot.release })
            }
            _ => Ok(State::Up { boot }),
        },
        State::Up { .. } => Ok(state),
    }
}

/// Handles a host that did not come back in time: switches it off and on once. Returns the next
/// deadline.
fn cycle(power_cycled: Option<Result<(), String>>, acts: &mut dyn Acts, limit: Duration) -> Result<Duration, NotUp> {
    if power_cycled.is_some() {
        return Err(NotUp::NotBack { limit, power_cycled });
    }
    match acts.power_cycle() {
        Some(Ok(())) => Ok(acts.now() + limit),
        power_cycled => Err(NotUp::NotBack { limit, power_cycled }),
    }
}

/// State of a host whose connection was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundAgain {
    /// The boot has not changed: the network failed, or the host's server.
    SameBoot,
    /// Another boot answers: the host went down.
    OtherBoot,
}

/// Waits until a host answers whose connection was lost, and switches it off and on once if it does
/// not. `before`: the identifier of its boot. Fails if it does not come back, or on a stop.
pub(super) fn find_again(acts: &mut dyn Acts, before: &str, limit: Duration) -> Result<FoundAgain, NotUp> {
    let (mut until, mut power_cycled) = (acts.now() + limit, None);
    loop {
        acts.rest()?;
        match acts.boot() {
            Ok(boot) if boot.id == before => return Ok(FoundAgain::SameBoot),
            Ok(_) => return Ok(FoundAgain::OtherBoot),
            Err(stranger @ NoBoot::Stranger { .. }) => return Err(stranger.into()),
            Err(_) if acts.now() < until => {}
            Err(_) => {
                until = cycle(power_cycled, acts, limit)?;
                power_cycled = Some(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose boots answer at these times (seconds after the reboot, or after the power
    /// cycle).
    #[derive(Default)]
    struct Host {
        now_s: u64,
        /// Time of the last reboot or power cycle.
        went_s: Option<u64>,
        back_after_reboot_s: Option<u64>,
        back_after_cycle_s: Option<u64>,
        /// Time for which the old boot continues to answer.
        down_after_s: u64,
        is_cycled: bool,
        has_power: Option<Result<(), String>>,
        refuses: &'static str,
        stops_at_s: Option<u64>,
        done: Vec<&'static str>,
    }

    impl Host {
        fn refuse(&mut self, what: &'static str) -> Result<(), String> {
            self.done.push(what);
            if self.refuses == what { Err(format!("no {what}")) } else { Ok(()) }
        }
    }

    fn boot(id: &str, release: &str) -> HostBoot {
        HostBoot { id: id.to_owned(), release: release.to_owned() }
    }

    impl Acts for Host {
        fn boot(&mut self) -> Result<HostBoot, NoBoot> {
            if self.refuses == "stranger" {
                return Err(NoBoot::Stranger { problem: "another key".to_owned(), hint: "look".to_owned() });
            }
            let Some(went) = self.went_s else {
                let no = Err(NoBoot::Silent("no boot".to_owned()));
                return if self.refuses == "boot" { no } else { Ok(boot("1", "old")) };
            };
            let passed = self.now_s - went;
            let back = if self.is_cycled { self.back_after_cycle_s } else { self.back_after_reboot_s };
            match back {
                Some(back) if passed >= back => Ok(boot("2", "new")),
                _ if !self.is_cycled && passed < self.down_after_s => Ok(boot("1", "old")),
                _ => Err(NoBoot::Silent("connection refused".to_owned())),
            }
        }

        fn install(&mut self) -> Result<(), NotUp> {
            self.refuse("install").map_err(NotUp::NotInstalled)
        }

        fn reboot(&mut self) -> Result<(), String> {
            self.went_s = Some(self.now_s);
            self.refuse("reboot")
        }

        fn power_cycle(&mut self) -> Option<Result<(), String>> {
            self.done.push("power_cycle");
            (self.is_cycled, self.went_s) = (true, Some(self.now_s));
            self.has_power.clone()
        }

        fn rest(&mut self) -> Result<(), NotUp> {
            self.now_s += 5;
            if self.stops_at_s.is_some_and(|stop| self.now_s >= stop) { Err(NotUp::Stopped) } else { Ok(()) }
        }

        fn now(&self) -> Duration {
            Duration::from_secs(self.now_s)
        }
    }

    const LIMIT: Duration = Duration::from_secs(60);

    fn brought_up(mut host: Host, release: Option<&str>) -> (Result<HostBoot, NotUp>, Vec<&'static str>) {
        let up = bring_up(&mut host, &Wanted { back_limit: LIMIT, release });
        (up, host.done)
    }

    #[test]
    fn only_another_boot_counts_as_back() {
        let host = || Host { back_after_reboot_s: Some(50), down_after_s: 20, ..Host::default() };
        assert_eq!(brought_up(host(), None), (Ok(boot("2", "new")), vec!["install", "reboot"]));
        assert_eq!(brought_up(host(), Some("new")).0, Ok(boot("2", "new")));
        let other = NotUp::OtherKernel { expected: "newer".to_owned(), found: "new".to_owned() };
        assert_eq!(brought_up(host(), Some("newer")).0, Err(other));
    }

    #[test]
    fn a_host_that_does_not_come_back_is_switched_off_and_on_once() {
        let hangs = || Host { has_power: Some(Ok(())), ..Host::default() };
        let (up, done) = brought_up(Host { back_after_cycle_s: Some(30), ..hangs() }, None);
        assert_eq!((up, done), (Ok(boot("2", "new")), vec!["install", "reboot", "power_cycle"]));
        // The host never went down.
        let (up, _) = brought_up(Host { down_after_s: 1000, back_after_cycle_s: Some(30), ..hangs() }, None);
        assert_eq!(up, Ok(boot("2", "new")));

        let (up, done) = brought_up(hangs(), None);
        assert_eq!(up, Err(NotUp::NotBack { limit: LIMIT, power_cycled: Some(Ok(())) }));
        assert_eq!(done, ["install", "reboot", "power_cycle"], "once");
        for has_power in [None, Some(Err("no such plug".to_owned()))] {
            let (up, _) = brought_up(Host { has_power: has_power.clone(), ..Host::default() }, None);
            assert_eq!(up, Err(NotUp::NotBack { limit: LIMIT, power_cycled: has_power }));
        }
    }

    #[test]
    fn nothing_is_done_after_a_failure() {
        let fails = |refuses| brought_up(Host { refuses, back_after_reboot_s: Some(0), ..Host::default() }, None);
        assert_eq!(fails("boot"), (Err(NotUp::Unreachable("no boot".to_owned())), vec![]));
        assert_eq!(fails("install"), (Err(NotUp::NotInstalled("no install".to_owned())), vec!["install"]));
        assert_eq!(fails("reboot"), (Err(NotUp::NotRebooted("no reboot".to_owned())), vec!["install", "reboot"]));
        let (up, _) = brought_up(Host { stops_at_s: Some(20), ..Host::default() }, None);
        assert_eq!(up, Err(NotUp::Stopped));
    }

    #[test]
    fn a_host_whose_connection_was_lost_is_found_by_its_boot() {
        let found = |mut host: Host| {
            host.went_s = Some(0);
            (find_again(&mut host, "1", LIMIT), host.done)
        };
        // The network comes back before the power cycle.
        let cut = Host { down_after_s: 1000, ..Host::default() };
        assert_eq!(found(cut), (Ok(FoundAgain::SameBoot), vec![]));
        let panicked = Host { back_after_reboot_s: Some(50), ..Host::default() };
        assert_eq!(found(panicked), (Ok(FoundAgain::OtherBoot), vec![]));
        let hangs = || Host { has_power: Some(Ok(())), ..Host::default() };
        let cycled = Host { back_after_cycle_s: Some(30), ..hangs() };
        assert_eq!(found(cycled), (Ok(FoundAgain::OtherBoot), vec!["power_cycle"]));
        let gone = NotUp::NotBack { limit: LIMIT, power_cycled: Some(Ok(())) };
        assert_eq!(found(hangs()), (Err(gone), vec!["power_cycle"]), "once");
        assert_eq!(found(Host { stops_at_s: Some(20), ..hangs() }).0, Err(NotUp::Stopped));
        let stranger = NotUp::Stranger { problem: "another key".to_owned(), hint: "look".to_owned() };
        assert_eq!(found(Host { refuses: "stranger", ..hangs() }), (Err(stranger), vec![]), "it is not waited for");
    }
}
