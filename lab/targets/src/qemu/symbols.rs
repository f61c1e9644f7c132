//! The kernel's symbols, from the guest's `/proc/kallsyms`, cached by image. They are equal in
//! every boot of an image, because addresses are not randomised.

use super::boot::{Boot, BootEnd};
use super::probe::Cache;
use crate::agent::Plan;
use crate::agent::frame::Frame;
use crate::{StopFlag, TargetError};
use faultline_record::lens::guest_kernel::KernelSymbol;
use std::ops::ControlFlow;
use std::time::Duration;

/// Time limit, longer than the symbols of the largest kernels take through a serial port on a
/// loaded machine.
pub(super) const LIMIT: Duration = Duration::from_secs(300);

/// The agent's commands in a boot for the symbols.
pub(super) fn plan() -> Plan {
    let mut plan = Plan::default();
    plan.add(&["symbols"]);
    plan
}

/// The symbols that a guest reports in such a boot. Fails if it does not report them, or on a stop.
pub(super) fn reported(boot: &Boot<'_>, stop: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError> {
    let mut decoder = Decoder::default();
    let mut whole = true;
    let booted = boot.run(
        &mut |frame| {
            if let Frame::Symbols(text) = frame {
                whole &= decoder.take(text);
            }
            ControlFlow::Continue(())
        },
        stop,
    );
    let symbols = decoder.finish();
    let problem = match booted.end {
        BootEnd::Done if !whole => "its answer is malformed".to_owned(),
        BootEnd::Done if symbols.iter().all(|symbol| symbol.address == 0) => {
            "its kernel hides their addresses, or has none (CONFIG_KALLSYMS)".to_owned()
        }
        BootEnd::Done => return Ok(symbols),
        BootEnd::Failed(_, text) | BootEnd::LabFailed(text) | BootEnd::AfterLack(text) => text,
        BootEnd::Refused | BootEnd::Stopped => "it was stopped".to_owned(),
    };
    Err(TargetError {
        problem: format!("no kernel symbols from the guest: {problem}"),
        hint: "build the kernel with CONFIG_KALLSYMS_ALL".to_owned(),
    })
}

/// Decoder of consecutive `symbols` frames (docs/FORMATS.md, "A guest's output").
#[derive(Debug, Default)]
struct Decoder {
    symbols: Vec<KernelSymbol>,
}

impl Decoder {
    /// Decodes a frame's text. False if it is not in the format.
    fn take(&mut self, text: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        text.split_ascii_whitespace().all(|word| self.word(word).is_some())
    }

    fn finish(self) -> Vec<KernelSymbol> {
        self.symbols
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let mut characters = word.chars();
        let kind = characters.next()?;
        let (lower, rest) = match characters.as_str().strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, characters.as_str()),
        };
        let (difference, rest) = rest.split_at(rest.find(|c: char| c.is_ascii_uppercase())?);
        let difference = u64::from_str_radix(difference, 16).ok()?;
        let common = usize::from(rest.as_bytes()[0] - b'A');
        let (address_before, name_before) =
            self.symbols.last().map_or((0, ""), |symbol| (symbol.address, symbol.name.as_str()));
        let address =
            if lower { address_before.checked_sub(difference)? } else { address_before.checked_add(difference)? };
        let name = format!("{}{}", name_before.get(..common)?, &rest[1..]);
        self.symbols.push(KernelSymbol { address, kind, name });
        Some(())
    }
}

/// The cache's entry for the symbols of an image.
fn entry(sha256: &str) -> String {
    format!("kernel-symbols-{sha256}")
}

/// The cached symbols of an image, one per line; `None` if there are none that can be read.
pub(super) fn cached(cache: &Cache<'_>, sha256: &str) -> Option<Vec<KernelSymbol>> {
    cache.read(&entry(sha256))?.lines().map(|line| line.parse().ok()).collect()
}

/// Caches the symbols of an image.
pub(super) fn keep(cache: &Cache<'_>, sha256: &str, symbols: &[KernelSymbol]) {
    cache.write(&entry(sha256), &mut |out| symbols.iter().try_for_each(|symbol| writeln!(out, "{symbol}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(address: u64, kind: char, name: &str) -> KernelSymbol {
        KernelSymbol { address, kind, name: name.to_owned() }
    }

    #[test]
    fn frames_are_decoded_across_their_borders() {
        let mut decoder = Decoder::default();
        assert!(decoder.take(b"A0Afixed_percpu_data A1000Acpu_tss_rw Tffffffff80fff000A_stext t10Bstart "));
        assert!(decoder.take(b"t-8Afoo"));
        assert_eq!(
            decoder.finish(),
            [
                symbol(0, 'A', "fixed_percpu_data"),
                symbol(0x1000, 'A', "cpu_tss_rw"),
                symbol(0xffff_ffff_8100_0000, 'T', "_stext"),
                symbol(0xffff_ffff_8100_0010, 't', "_start"),
                symbol(0xffff_ffff_8100_0008, 't', "foo"),
            ]
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [&b"t"[..], b"t10", b"txAfoo", b"t10Zfoo", b"t-1Afoo", b"\xff", b"t1ffffffffffffffffAx"] {
            assert!(!Decoder::default().take(text), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn what_is_cached_is_there_again() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache(Some(directory.path()));
        let symbols = [symbol(0, 'A', "x"), symbol(u64::MAX, 't', "y.constprop.0")];
        assert_eq!(cached(&cache, "abc"), None);
        keep(&cache, "abc", &symbols);
        assert_eq!(cached(&cache, "abc").unwrap(), symbols);
        cache.write(&entry("abc"), &mut |out| out.write_all(b"rubbish"));
        assert_eq!(cached(&cache, "abc"), None);
    }
}
