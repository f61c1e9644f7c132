//! The kernel's symbols, from the guest's `/proc/kallsyms`, cached by image in the user's cache directory. They are the same in
//! every boot of an image, because addresses are not randomised.

use super::boot::{Boot, BootEnd};
use crate::agent::Plan;
use crate::agent::frame::Frame;
use crate::{StopFlag, TargetError};
use faultline_model::lens::kernel_symbol::KernelSymbol;
use std::fs;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than any takes: the symbols of the largest kernels through a serial port, on a loaded machine.
pub(super) const LIMIT: Duration = Duration::from_secs(300);

/// What the agent does in a boot for the symbols.
pub(super) fn plan() -> Plan {
    let mut plan = Plan::default();
    plan.add(&["symbols"]);
    plan
}

/// The symbols that a guest tells in such a boot. Fails if it does not, or on a stop.
pub(super) fn told(boot: &Boot<'_>, stop: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError> {
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
        BootEnd::Done if !whole => "what it says of them is not in the format".to_owned(),
        BootEnd::Done if symbols.iter().all(|symbol| symbol.address == 0) => {
            "its kernel hides their addresses, or has none (CONFIG_KALLSYMS)".to_owned()
        }
        BootEnd::Done => return Ok(symbols),
        BootEnd::Failed(_, text) => text,
        BootEnd::Refused | BootEnd::Stopped => "it was stopped".to_owned(),
    };
    Err(TargetError {
        problem: format!("no kernel symbols from the guest: {problem}"),
        hint: "build the kernel with CONFIG_KALLSYMS_ALL".to_owned(),
    })
}

/// Reads the contents of `symbols` frames, one after the other (docs/FORMATS.md, "What a guest says").
#[derive(Debug, Default)]
struct Decoder {
    symbols: Vec<KernelSymbol>,
}

impl Decoder {
    /// Takes a frame's text; `false` if it is not in the format.
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

/// The cache file for the symbols of an image.
fn file(cache: &Path, sha256: &str) -> PathBuf {
    cache.join(format!("kernel-symbols-{sha256}"))
}

/// The cached symbols of an image, one per line; `None` if there are none that can be read.
pub(super) fn cached(cache: &Path, sha256: &str) -> Option<Vec<KernelSymbol>> {
    fs::read_to_string(file(cache, sha256)).ok()?.lines().map(|line| line.parse().ok()).collect()
}

/// Caches the symbols of an image; the file appears as a whole. Fails if it cannot be written.
pub(super) fn keep(cache: &Path, sha256: &str, symbols: &[KernelSymbol]) -> Result<(), TargetError> {
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(cache)?;
        let file_here = tempfile::NamedTempFile::new_in(cache).map_err(|error| error.kind())?;
        let mut out = BufWriter::new(&file_here);
        for symbol in symbols {
            writeln!(out, "{symbol}")?;
        }
        out.flush()?;
        drop(out);
        file_here.persist(file(cache, sha256))?;
        Ok(())
    };
    write().map_err(|error| TargetError {
        problem: format!("cannot keep the kernel's symbols in {}: {error}", cache.display()),
        hint: "XDG_CACHE_HOME names another directory for caches".to_owned(),
    })
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
        let cache = tempfile::tempdir().unwrap();
        let symbols = [symbol(0, 'A', "x"), symbol(u64::MAX, 't', "y.constprop.0")];
        assert_eq!(cached(cache.path(), "abc"), None);
        keep(&cache.path().join("new"), "abc", &symbols).unwrap();
        assert_eq!(cached(&cache.path().join("new"), "abc").unwrap(), symbols);
        fs::write(file(cache.path(), "abc"), "rubbish").unwrap();
        assert_eq!(cached(cache.path(), "abc"), None);
    }
}
