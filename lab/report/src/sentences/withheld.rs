//! Why the lens predicts no rate.

use super::percent;
use faultline_model::lens::summary::Withheld;

/// The reason, and what can be done about it.
pub(crate) fn withheld(why: &Withheld) -> String {
    match why {
        Withheld::NotModelled { share } => format!(
            "{} of the time depends on how long CPUs keep lines, or on what waking and interrupts take, which this run did not model; `--predict` does",
            percent(*share)
        ),
        Withheld::NotMeasured { share } => format!(
            "{} of the time follows from times that are orders of magnitude in this table of costs; `faultline lens calibrate` measures those of this machine, for `--costs measured`",
            percent(*share)
        ),
        Withheld::LittleOverlap { share } => {
            format!(
                "at least two CPUs were busy in only {} of the time; more operations (`--ops`) may help",
                percent(*share)
            )
        }
        Withheld::FewDelays { share } => format!(
            "one more wake-up or interrupt would change the rate by {}; more operations (`--ops`) make it certain",
            percent(*share)
        ),
        Withheld::NotNoted => "an older version counted this, and did not note what the time was spent on".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_says_what_to_do_if_anything_helps() {
        let share = 0.5;
        let hints = [
            (Withheld::NotModelled { share }, "`--predict`"),
            (Withheld::NotMeasured { share }, "`faultline lens calibrate`"),
            (Withheld::LittleOverlap { share }, "`--ops`"),
            (Withheld::FewDelays { share }, "`--ops`"),
        ];
        for (why, hint) in hints {
            let words = withheld(&why);
            assert!(words.contains("50.0 %") && words.contains(hint), "{words}");
        }
        assert!(withheld(&Withheld::NotNoted).contains("older version"));
    }
}
