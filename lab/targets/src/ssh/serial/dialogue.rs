//! The dialogue at a serial console, a function from output to input: a name and a password at the
//! prompts, then the command that starts the agent. No I/O: callers read, type, and measure how
//! long the console has been quiet.
//!
//! A console's output is unpredictable, and kernel messages interrupt it. So the module looks for a
//! prompt only once the console is quiet. If it stays quiet, the module types again.

use crate::TargetError;
use std::time::Duration;

/// The byte of the Enter key.
const ENTER: &str = "\r";

/// Last words of a line that asks for a name or a password.
const ASKS_FOR_NAME: &str = "login:";
const ASKS_FOR_PASSWORD: &str = "assword:";

/// Output of a shell that executes the command below. The echo of the typed command differs from
/// it.
const SHELL: &str = "faultline-shell";
const ASK_FOR_SHELL: &str = "echo faultline-''shell";

/// Output of the command when the agent has its channel, and when it has ended.
const STARTED: &str = "faultline-started";
const ENDED: &str = "faultline-ended";

/// Beginning of the command's error message.
const TROUBLE: &str = "faultline: ";

/// Finds the second disk by its first bytes, a file name, and runs the script that is its first
/// file (`programs_disk`). It tries the names of all systems: Linux, FreeBSD, DragonFly, NetBSD,
/// OpenBSD. Every kind of shell interprets it in the same way, and it is short enough for a
/// terminal that takes 255 bytes at once.
const START: &str = "/bin/sh -c 'for d in vdb sdb vtbd1 ada1 vbd1 ad1 rld1d rwd1d rsd1c rwd1c; do r() { dd if=/dev/$d bs=512 $1 2>/dev/null; }; \
    r count=1 | grep -q ^faultline.sh && r skip=1 | sh -s $d; done'; echo faultline-''ended";

/// After this quiet time, a last line that asks for something is a prompt.
const PAUSE: Duration = Duration::from_millis(500);

/// After this quiet time, a line that looks like a shell's prompt is one.
const PROMPT: Duration = Duration::from_secs(1);

/// After this quiet time, the last input may be typed again.
const AGAIN: Duration = Duration::from_secs(5);

/// After this quiet time, Enter is typed: a booting system is often silent for some seconds, and
/// its loader takes Enter for an answer.
const SILENCE: Duration = Duration::from_secs(15);

/// Time limit for the command. Then the channel decides whether it has started.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Number of times that a name is typed.
const MOST_NAMES: u32 = 3;

/// Number of bytes of the console's output that are kept.
const KEPT_BYTES: usize = 8192;

/// Inputs of a login.
#[derive(Debug, Clone, Copy)]
pub(super) struct Who<'a> {
    /// The system's name for messages.
    pub(super) system: &'a str,
    pub(super) user: &'a str,
    pub(super) password: Option<&'a str>,
}

/// Progress of a login.
#[derive(Debug)]
pub(super) struct Dialogue<'a> {
    who: Who<'a>,
    stage: Stage,
    /// Output of the console since the last input.
    heard: String,
    names: u32,
}

/// The last action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing.
    Listening,
    /// Enter was typed.
    Knocked,
    Name,
    Password,
    /// A shell was requested.
    Shell,
    /// The agent is being started.
    Starting,
}

/// The next action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    Listen,
    Type(String),
    /// The agent has been started.
    Started,
    /// The login failed.
    Refused(TargetError),
}

impl<'a> Dialogue<'a> {
    /// The dialogue with a system that was switched on.
    pub(super) fn new(who: Who<'a>) -> Self {
        Dialogue { who, stage: Stage::Listening, heard: String::new(), names: 0 }
    }

    /// Records output of the console.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.heard.extend(text.chars().filter(|&c| c == '\n' || !c.is_control()));
        if self.heard.len() > KEPT_BYTES {
            let from = self.heard.len() - KEPT_BYTES / 2;
            let from = (from..self.heard.len()).find(|&at| self.heard.is_char_boundary(at)).unwrap_or_default();
            self.heard.drain(..from);
        }
    }

    /// The action now. `quiet`: time since the last output or input.
    pub(super) fn turn(&mut self, quiet: Duration) -> Turn {
        if self.stage == Stage::Starting {
            return self.starting(quiet);
        }
        if self.stage == Stage::Shell && self.heard.contains(SHELL) {
            return self.enter(Stage::Starting, START);
        }
        if quiet < PAUSE {
            return Turn::Listen;
        }
        let last = self.heard.lines().last().unwrap_or_default().trim_end();
        // "Last login: …" is printed after a login.
        if last.ends_with(ASKS_FOR_NAME) && !last.ends_with("Last login:") {
            return self.asked_for_name();
        }
        if last.ends_with(ASKS_FOR_PASSWORD) {
            return self.asked_for_password();
        }
        self.unasked(quiet)
    }

    fn asked_for_name(&mut self) -> Turn {
        if self.stage == Stage::Password || self.names == MOST_NAMES {
            return self.not_let_in();
        }
        self.names += 1;
        self.enter(Stage::Name, self.who.user)
    }

    fn asked_for_password(&mut self) -> Turn {
        match (self.stage, self.who.password) {
            (Stage::Name, Some(password)) => self.enter(Stage::Password, password),
            (Stage::Name, None) => self.refused(
                "asks for a password".to_owned(),
                "`password=FILE` names a file whose first line is the password",
            ),
            (Stage::Password, _) => self.not_let_in(),
            // After a wrong name.
            _ => self.enter(Stage::Knocked, ""),
        }
    }

    fn not_let_in(&self) -> Turn {
        let said = self.heard.lines().rev().map(str::trim).filter(|line| !line.is_empty()).nth(1);
        let without =
            |said: &str| self.who.password.map_or_else(|| said.to_owned(), |password| said.replace(password, "…"));
        let said = said.map_or(String::new(), |said| format!(": {}", without(said)));
        let hint = "the first line of the file of `password=` is the password, `user=` names another user; \
            many systems let root log in only where a file names the console (/etc/securetty, /etc/ttys)";
        self.refused(format!("does not let {} log in at its serial console{said}", self.who.user), hint)
    }

    fn refused(&self, what: String, hint: &str) -> Turn {
        Turn::Refused(TargetError { problem: format!("{} {what}", self.who.system), hint: hint.to_owned() })
    }

    /// No prompt.
    fn unasked(&mut self, quiet: Duration) -> Turn {
        let last = self.heard.lines().last().unwrap_or_default().trim_end();
        let is_prompt = last.ends_with(['#', '$', '%', '>']);
        let waits_for_name = self.heard.contains(ASKS_FOR_NAME);
        match self.stage {
            // Output followed the prompt for a name.
            Stage::Listening if waits_for_name && quiet >= AGAIN => self.enter(Stage::Knocked, ""),
            Stage::Listening | Stage::Shell if quiet >= SILENCE => self.enter(Stage::Knocked, ""),
            Stage::Knocked | Stage::Name | Stage::Password if is_prompt && quiet >= PROMPT => self.ask_for_shell(),
            Stage::Knocked if !self.heard.trim().is_empty() && quiet >= AGAIN => self.ask_for_shell(),
            Stage::Knocked | Stage::Name | Stage::Password if quiet >= SILENCE => self.ask_for_shell(),
            _ => Turn::Listen,
        }
    }

    fn ask_for_shell(&mut self) -> Turn {
        self.enter(Stage::Shell, ASK_FOR_SHELL)
    }

    fn starting(&self, quiet: Duration) -> Turn {
        if self.heard.contains(STARTED) || quiet >= START_LIMIT {
            return Turn::Started;
        }
        if !self.heard.contains(ENDED) {
            return Turn::Listen;
        }
        let said = self.heard.lines().rev().find_map(|line| line.split_once(TROUBLE)).map(|(_, said)| said.trim());
        let said = said.unwrap_or("no disk with the programs was found");
        self.refused(
            format!("could not start the agent from its serial console: {said}"),
            "the user must be able to read the second disk and to use the second serial port; docs/IMAGES.md says what a login at the console needs",
        )
    }

    fn enter(&mut self, stage: Stage, words: &str) -> Turn {
        self.stage = stage;
        self.heard.clear();
        Turn::Type(format!("{words}{ENTER}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Who<'_> = Who { system: "small.img", user: "root", password: Some("secret") };
    const NO_PASSWORD: Who<'_> = Who { password: None, ..ROOT };

    fn typed(words: &str) -> Turn {
        Turn::Type(format!("{words}\r"))
    }

    /// The action after this output, once the console is quiet for that time.
    fn after(dialogue: &mut Dialogue<'_>, printed: &str, quiet: Duration) -> Turn {
        dialogue.hear(printed.as_bytes());
        assert_eq!(dialogue.turn(Duration::ZERO), Turn::Listen, "it may go on after: {printed}");
        dialogue.turn(quiet)
    }

    fn soon(dialogue: &mut Dialogue<'_>, printed: &str) -> Turn {
        after(dialogue, printed, PAUSE)
    }

    /// The error, if the login is refused.
    fn refused(turn: Turn) -> TargetError {
        match turn {
            Turn::Refused(error) => error,
            other => panic!("{other:?}"),
        }
    }

    fn logged_in() -> Dialogue<'static> {
        let mut dialogue = Dialogue::new(ROOT);
        assert_eq!(soon(&mut dialogue, "[    1.0] Run /sbin/init\r\n\r\nsmall login: "), typed("root"));
        assert_eq!(soon(&mut dialogue, "root\r\nPassword: "), typed("secret"));
        dialogue
    }

    #[test]
    fn name_and_password_are_typed_and_then_the_command() {
        let mut dialogue = logged_in();
        assert_eq!(soon(&mut dialogue, "\r\nLast login:"), Turn::Listen);
        assert_eq!(after(&mut dialogue, " Fri Nov 27 on ttyS0\r\n~ # ", PROMPT), typed(ASK_FOR_SHELL));
        // The echo is no answer.
        assert_eq!(soon(&mut dialogue, "echo faultline-''shell\r\n"), Turn::Listen);
        dialogue.hear(b"[    9.1] random: crng init done\r\nfaultline-shell\r\n");
        assert_eq!(dialogue.turn(Duration::ZERO), typed(START));
        assert_eq!(soon(&mut dialogue, &format!("~ # {START}\r\n")), Turn::Listen);
        dialogue.hear(b"faultline-started\r\n");
        assert_eq!(dialogue.turn(Duration::ZERO), Turn::Started);
    }

    #[test]
    fn what_is_typed_fits_a_line_of_any_terminal() {
        assert!(START.len() < 255, "{}", START.len());
        assert!(!START.contains([STARTED, ENDED, TROUBLE].map(str::to_owned).join("").as_str()));
        for word in [STARTED, ENDED, TROUBLE] {
            assert!(!START.contains(word), "the echo is taken for an answer");
        }
        assert!(!ASK_FOR_SHELL.contains(SHELL));
        assert!(!START.contains(['!', '"', '\n']), "no shell reads it in another way");
    }

    #[test]
    fn a_login_that_is_refused_ends_it() {
        let said = refused(soon(&mut logged_in(), "\r\nLogin incorrect\r\nsmall login: "));
        assert_eq!(said.problem, "small.img does not let root log in at its serial console: Login incorrect");
        let mut asks = Dialogue::new(NO_PASSWORD);
        assert_eq!(soon(&mut asks, "login: "), typed("root"));
        assert_eq!(refused(soon(&mut asks, "root\r\nPassword:")).problem, "small.img asks for a password");
        let changed = refused(soon(&mut logged_in(), "\r\nYou are required to change it.\r\nCurrent password: "));
        assert!(changed.problem.ends_with("serial console: You are required to change it."), "{changed}");
        let mut deaf = Dialogue::new(NO_PASSWORD);
        for _ in 0..MOST_NAMES {
            assert_eq!(soon(&mut deaf, "\r\nlogin: "), typed("root"));
        }
        refused(soon(&mut deaf, "\r\nlogin: "));
    }

    #[test]
    fn a_console_that_waits_for_enter_gets_it() {
        let mut dialogue = Dialogue::new(NO_PASSWORD);
        assert_eq!(after(&mut dialogue, "[    1.0] Run /sbin/init\r\n", AGAIN), Turn::Listen);
        assert_eq!(dialogue.turn(SILENCE), typed(""));
        assert_eq!(soon(&mut dialogue, "\r\n\r\nsmall login: "), typed("root"));
        // A kernel message after the prompt hides it.
        let mut hidden = Dialogue::new(NO_PASSWORD);
        assert_eq!(after(&mut hidden, "small login: [    2.0] random: crng init done\r\n", AGAIN), typed(""));
        assert_eq!(soon(&mut hidden, "small login: "), typed("root"));
    }

    #[test]
    fn a_shell_may_be_there_without_a_login() {
        let mut dialogue = Dialogue::new(NO_PASSWORD);
        assert_eq!(after(&mut dialogue, "Please press Enter to activate this console.\r\n", SILENCE), typed(""));
        assert_eq!(after(&mut dialogue, "\r\n/ # ", PROMPT), typed(ASK_FOR_SHELL));
        dialogue.hear(b"faultline-shell\r\n");
        assert_eq!(dialogue.turn(Duration::ZERO), typed(START));
    }

    #[test]
    fn a_command_that_was_taken_for_a_name_does_no_harm() {
        let mut dialogue = Dialogue::new(ROOT);
        assert_eq!(dialogue.turn(SILENCE), typed(""));
        assert_eq!(after(&mut dialogue, "starting services\r\n", AGAIN), typed(ASK_FOR_SHELL));
        assert_eq!(soon(&mut dialogue, "small login: echo faultline-''shell\r\nPassword: "), typed(""));
        assert_eq!(soon(&mut dialogue, "\r\nLogin incorrect\r\nsmall login: "), typed("root"));
        // The question for a shell stays unanswered.
        let mut silent = Dialogue::new(ROOT);
        assert_eq!(silent.turn(SILENCE), typed(""));
        assert_eq!(silent.turn(SILENCE), typed(ASK_FOR_SHELL));
        assert_eq!(silent.turn(SILENCE), typed(""));
    }

    #[test]
    fn a_command_that_fails_says_why() {
        let failed = |printed: &str| {
            let mut dialogue = Dialogue::new(ROOT);
            dialogue.stage = Stage::Starting;
            dialogue.hear(printed.as_bytes());
            refused(dialogue.turn(Duration::ZERO)).problem
        };
        let own = failed("faultline: there is no second serial port\r\nfaultline-ended\r\n# ");
        assert!(own.ends_with("console: there is no second serial port"), "{own}");
        assert!(failed("faultline-ended\r\n").ends_with("console: no disk with the programs was found"));
    }

    #[test]
    fn the_end_of_what_is_printed_is_kept() {
        let mut dialogue = Dialogue::new(ROOT);
        for _ in 0..5000 {
            dialogue.hear("ein längerer Satz\r\n".as_bytes());
        }
        assert!(dialogue.heard.len() <= KEPT_BYTES);
        assert_eq!(soon(&mut dialogue, "login: "), typed("root"));
    }
}
