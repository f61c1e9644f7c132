//! `faultline completions`: the script that makes a shell ask us to complete a command line, and the answer if one asks. The definitions of the arguments
//! have the options and their values; [`crate::completing`] finds what is not written there.

use crate::arguments::{Arguments, Completions, Shell};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use std::process::ExitCode;

/// The environment variable in which a shell that asks gives its name.
const VARIABLE: &str = "FAULTLINE_COMPLETE";

/// Bash splits `zero_fill:base` into three words. They are joined before we are asked, and the part before the last colon is removed from the answers.
const BASH: &str = r#"_faultline() {
    local word words=() IFS=$'\013'
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if (( ${#words[@]} )) && [[ $word == :* || ${words[-1]} == *: ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    local current=${words[-1]}
    COMPREPLY=( $(VARIABLE=bash _CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX=$(( ${#words[@]} - 1 )) faultline -- "${words[@]}") ) || return
    COMPREPLY=( "${COMPREPLY[@]#"${current%"${current##*:}"}"}" )
    [[ ${COMPREPLY-} != *[=/:] ]] || compopt -o nospace 2> /dev/null
}
complete -o bashdefault -F _faultline faultline
"#;

/// If a shell asks, answers it and ends the process.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Arguments::command).var(VARIABLE).complete();
}

pub(crate) fn completions(arguments: &Completions) -> Result<ExitCode, Failure> {
    output::print(&script(arguments.shell))?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> String {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => return BASH.replace("VARIABLE", VARIABLE),
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::Powershell => &Powershell,
        Shell::Zsh => &Zsh,
    };
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "faultline", "faultline", "faultline", &mut script)
        .expect("a vector takes every byte");
    String::from_utf8_lossy(&script).into_owned()
}
