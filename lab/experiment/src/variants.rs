//! Variants: setups of sides of live comparisons, from `faultline.toml` or the command line.
//! Support by the machine is checked when a side is prepared.

use crate::command_words::{SHELL_BY_OPTION, command_words, words, words_without_shell};
use crate::error::Error;
use crate::hosts::Hosts;
use crate::places::Places;
use crate::settings_file::{self, SettingsTable, USUAL_FILE};
use faultline_record::machine::Machine;
use faultline_record::role::Role;
use faultline_record::setup::Setup;
use faultline_record::subject::Subject;
use faultline_targets::search_path::{is_executable, program_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The keys that words on the command line may set.
const KEYS: &str = "env.NAME, sysctl.NAME, /sys/FILE, programs, compiler, sources, on, kernel, workload, command, prepare, setup, warmup, directory or partner.ROLE";

/// The name of a side that changes nothing.
const BASELINE: &str = "baseline";

/// Declared variants.
#[derive(Debug, Default)]
pub struct Variants {
    declared: BTreeMap<String, Setup>,
    /// The path where they were searched for.
    file: PathBuf,
    /// An error unless the user has consented to the file.
    consent: Option<Error>,
}

impl Variants {
    /// Reads the file of the places; none are declared without one. Fails if it cannot be read, or
    /// if a declaration is impossible.
    pub fn read(places: &Places) -> Result<Self, Error> {
        let Some(file) = places.settings.as_deref() else {
            return Ok(Variants { file: USUAL_FILE.into(), ..Variants::default() });
        };
        let text = settings_file::read(file).map_err(|error| {
            Error::usage(
                format!("cannot read {}: {error}", file.display()),
                "`--config FILE` takes a file that declares variants",
            )
        })?;
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Sides may be on declared hosts.
        Hosts::of_text(&text, file)?;
        let declared = parse(&text, file, directory)?;
        Ok(Variants { declared, file: file.to_owned(), consent: places.consent.check(file, &text).err() })
    }

    /// The subject of `text`, on a machine to be determined: a command, or declared names and
    /// `KEY=VALUE` words, of which later ones override earlier ones. Fails for other words,
    /// and for a declared name without the user's consent.
    pub fn setup(&self, text: &str) -> Result<Subject, Error> {
        let words = words("the variant", text)?;
        let mut setup = Setup::default();
        if self.is_command(&words)? {
            setup.command = words_without_shell("the command", text, SHELL_BY_OPTION)?;
        } else {
            for word in &words {
                self.take(word, &mut setup)?;
            }
        }
        let name = text.trim();
        let name = if name.is_empty() { BASELINE } else { name };
        Ok(Subject::on(name.to_owned(), Machine::Host, setup))
    }

    /// True for a command line: the first word has a slash or is a program in `PATH`. Declared
    /// names and `KEY=VALUE` take precedence. Fails if the first word is a declared name and a
    /// program.
    fn is_command(&self, words: &[String]) -> Result<bool, Error> {
        let Some(first) = words.first().filter(|first| !first.contains('=')) else { return Ok(false) };
        let is_variant = |word: &String| word.contains('=') || self.declared.contains_key(word);
        if first.contains('/') {
            return Ok(true);
        }
        if words.iter().all(is_variant) || program_file(first, Path::new("."), None).is_err() {
            return Ok(false);
        }
        if self.declared.contains_key(first) {
            return Err(Error::usage(
                format!("'{first}' is both a variant that {} declares and a program in PATH", self.file.display()),
                format!("to run the command, write \"command='{}'\"", words.join(" ")),
            ));
        }
        Ok(true)
    }

    /// Adds the meaning of one word. Fails if it has none.
    fn take(&self, word: &str, setup: &mut Setup) -> Result<(), Error> {
        let Some((key, value)) = word.split_once('=') else {
            let declared = self.declared.get(word).ok_or_else(|| self.unknown(word))?;
            self.consent.clone().map_or(Ok(()), Err)?;
            merge(setup, declared);
            return Ok(());
        };
        let value = value.to_owned();
        let (section, name) = key.split_once('.').unwrap_or((key, ""));
        match (section, name) {
            _ if key.starts_with("/sys/") => drop(setup.sysfs.insert(key.to_owned(), value)),
            ("env", name) if !name.is_empty() => drop(setup.environment.insert(name.to_owned(), value)),
            ("sysctl", name) if !name.is_empty() => drop(setup.sysctl.insert(name.to_owned(), value)),
            ("programs", "") => setup.programs = Some(value),
            ("compiler", "") => setup.compiler = Some(value),
            ("sources", "") => setup.sources = Some(value),
            ("on", "") => setup.on = Some(machine(&value)?),
            ("kernel", "") => setup.kernel = Some(value),
            ("workload", "") => setup.workload = Some(value),
            ("command", "") => setup.command = command_words(&value, "for example `--a \"command='sleep 1'\"`")?,
            ("prepare", "") => setup.prepare = command_words(&value, "for example `prepare='rm -rf cache'`")?,
            ("setup", "") => setup.set_up = command_words(&value, "for example `setup=make`")?,
            ("warmup", "") => setup.warmup = warmup(&value)?,
            ("directory", "") => setup.directory = Some(value),
            ("partner", role) if !role.is_empty() => {
                let (role, machine) = partner(role, &value)?;
                setup.partners.insert(role, machine);
            }
            _ => {
                return Err(Error::usage(
                    format!("a variant has no '{key}'"),
                    format!("write KEY=VALUE, where KEY is {KEYS}"),
                ));
            }
        }
        Ok(())
    }

    fn unknown(&self, word: &str) -> Error {
        let hint = if is_executable(Path::new(word)) {
            format!("a program in this directory is written with its path: './{word}'")
        } else if self.declared.is_empty() {
            format!("{} declares none; write KEY=VALUE, where KEY is {KEYS}", self.file.display())
        } else {
            let names = self.declared.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("{} declares {names}", self.file.display())
        };
        Error::usage(format!("there is no variant '{word}', and no program of that name in PATH"), hint)
    }
}

fn partner(role: &str, machine: &str) -> Result<(Role, Machine), Error> {
    let refused = |problem: String| {
        Error::usage(format!("partner.{role}={machine}: {problem}"), "for example `partner.receiver=qemu:cpus=2`")
    };
    Ok((role.parse().map_err(refused)?, machine.parse().map_err(refused)?))
}

fn warmup(text: &str) -> Result<u32, Error> {
    text.parse()
        .map_err(|_| Error::usage(format!("warmup={text}: not a number of executions"), "for example `warmup=3`"))
}

fn machine(text: &str) -> Result<Machine, Error> {
    text.parse().map_err(|problem| {
        Error::usage(format!("on={text}: {problem}"), "for example `on=qemu:cpus=2,append=mitigations=off`")
    })
}

/// Overrides `setup` with `over`.
fn merge(setup: &mut Setup, over: &Setup) {
    let copy = |map: &mut BTreeMap<String, String>, over: &BTreeMap<String, String>| {
        map.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    };
    copy(&mut setup.environment, &over.environment);
    copy(&mut setup.sysctl, &over.sysctl);
    copy(&mut setup.sysfs, &over.sysfs);
    let single = |own: &mut Option<String>, over: &Option<String>| {
        if over.is_some() {
            own.clone_from(over);
        }
    };
    single(&mut setup.programs, &over.programs);
    single(&mut setup.compiler, &over.compiler);
    single(&mut setup.sources, &over.sources);
    if over.on.is_some() {
        setup.on.clone_from(&over.on);
    }
    single(&mut setup.kernel, &over.kernel);
    single(&mut setup.workload, &over.workload);
    single(&mut setup.directory, &over.directory);
    let several = |own: &mut Vec<String>, over: &Vec<String>| {
        if !over.is_empty() {
            own.clone_from(over);
        }
    };
    several(&mut setup.command, &over.command);
    several(&mut setup.prepare, &over.prepare);
    several(&mut setup.set_up, &over.set_up);
    if over.warmup > 0 {
        setup.warmup = over.warmup;
    }
    setup.partners.extend(over.partners.iter().map(|(role, machine)| (role.clone(), machine.clone())));
}

/// Fails if the text of a file declares an impossible variant.
pub fn check(text: &str, file: &Path) -> Result<(), Error> {
    parse(text, file, Path::new(".")).map(drop)
}

/// Parses a file's text. Paths in it are relative to its own directory.
fn parse(text: &str, file: &Path, directory: &Path) -> Result<BTreeMap<String, Setup>, Error> {
    let hint = "a variant is a table: `[variant.NAME]` with environment, sysctl, sysfs, programs, compiler, sources, on, kernel, workload, command, prepare, setup, warmup, directory or partners";
    let written: Option<BTreeMap<String, Setup>> = settings_file::table(text, file, SettingsTable::Variant, hint)?;
    let mut declared = written.unwrap_or_default();
    for setup in declared.values_mut() {
        let Setup { programs, sources, kernel, directory: command_directory, .. } = setup;
        for path in [programs, sources, kernel, command_directory].into_iter().flatten() {
            *path = directory.join(&*path).to_string_lossy().into_owned();
        }
    }
    Ok(declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
[variant.stable]
kernel = "bzImage-6.1"

[variant.overcommit]
sysctl = { "vm.overcommit_memory" = 2 }
environment = { MALLOC_ARENA_MAX = "1" }

[variant.sent]
partners = { receiver = "host", forwarder = "host" }
"#;

    fn variants() -> Variants {
        let declared = parse(FILE, Path::new("here/faultline.toml"), Path::new("here")).unwrap();
        Variants { declared, file: "faultline.toml".into(), consent: None }
    }

    fn text_of(error: Error) -> String {
        format!("{}; {}", error.problem, error.hint.unwrap_or_default())
    }

    fn words(text: &str) -> Vec<String> {
        variants().setup(text).unwrap().setup.words()
    }

    #[test]
    fn names_and_words_lie_over_each_other() {
        assert_eq!(words("stable"), ["kernel here/bzImage-6.1"]);
        assert_eq!(
            words("overcommit sysctl.vm.overcommit_memory=0 on=qemu:cpus=2,append=a=b"),
            [
                "environment MALLOC_ARENA_MAX = 1",
                "sysctl vm.overcommit_memory = 0",
                "machine qemu:cpus=2,sockets=1,memory=1024M,boot_limit=42s,accel=tcg,append=a=b"
            ]
        );
        assert_eq!(words("/sys/kernel/mm/x=always"), ["sysfs /sys/kernel/mm/x = always"]);
        assert_eq!(
            words("sent partner.receiver=qemu"),
            ["forwarder on host", "receiver on qemu:cpus=4,sockets=1,memory=1024M,boot_limit=44s,accel=tcg"]
        );
        assert_eq!(words("./bench -n '1 2'"), ["command ./bench -n 1 2"]);
        assert_eq!(words("command='sleep 1'"), ["command sleep 1"]);
        assert_eq!(words("sh -c true"), ["command sh -c true"], "a program in PATH");
        assert_eq!((words(""), variants().setup(" ").unwrap().name), (vec![], BASELINE.to_owned()));
    }

    #[test]
    fn nonsense_is_refused_with_what_there_is() {
        let refused = |text: &str| text_of(variants().setup(text).unwrap_err());
        assert_eq!(
            refused("stabel"),
            "there is no variant 'stabel', and no program of that name in PATH; faultline.toml declares overcommit, sent, stable"
        );
        let declared = [("sh".to_owned(), Setup::default())].into();
        let both = Variants { declared, ..variants() };
        assert_eq!(both.setup("sh").unwrap().setup, Setup::default(), "what is declared goes first");
        assert_eq!(
            text_of(both.setup("sh -c true").unwrap_err()),
            "'sh' is both a variant that faultline.toml declares and a program in PATH; \
             to run the command, write \"command='sh -c true'\""
        );
        assert!(refused("colour=red").starts_with("a variant has no 'colour'"));
        assert!(refused("'unclosed").contains("cannot split"));
        assert!(refused("partner.receiver=vax").starts_with("partner.receiver=vax: not a machine"));
        assert!(refused("partner.Receiver=host").contains("'Receiver' is not a role"));
        assert!(refused("partner.=host").starts_with("a variant has no 'partner.'"));
        assert!(refused("env.=1").starts_with("a variant has no 'env.'"));
    }

    #[test]
    fn a_wrong_file_is_reported_with_its_line() {
        let wrong = |text| text_of(parse(text, Path::new("f.toml"), Path::new(".")).unwrap_err());
        assert!(wrong("[variant.a]\nsysctrl = {}\n").starts_with("f.toml:2: unknown field `sysctrl`"));
        assert!(wrong("[variant.a\n").starts_with("f.toml:1: "));
        assert!(wrong("[variants.a]\n").starts_with("f.toml:1: unknown table `variants`; there are "));
    }
}
