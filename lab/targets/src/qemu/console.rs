//! The output of the guest's kernel and of the emulator: the first serial port and standard error.

/// Number of bytes that are kept at the end: a panic with its traces, or some screens of a boot.
pub(super) const KEPT_BYTES: usize = 16 * 1024;

/// Messages of a kernel that gives up, the most certain first.
const PANICS: [&str; 3] = ["Kernel panic - not syncing", "Oops: ", "Unable to handle kernel"];

/// Lines in which the emulator reports an error begin with its name.
const EMULATOR: &str = "qemu";

/// The text in readable form: without carriage returns and terminal control characters.
pub(super) fn readable(text: &str) -> String {
    let lines =
        text.lines().map(|line| line.trim_end().chars().filter(|&c| c == '\t' || !c.is_control()).collect::<String>());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The line that the kernel prints when it panics, without its time.
pub(super) fn panic(console: &str) -> Option<String> {
    PANICS.iter().find_map(|panic| console.lines().find(|line| line.contains(panic))).map(without_time)
}

/// The beginning of the line that BSD kernels print when they panic.
const BSD_PANIC: &str = "panic: ";

/// The line that any kernel prints when it panics finally, without its time. A Linux kernel that
/// continues after an oops has not panicked.
pub(super) fn final_panic(line: &str) -> Option<String> {
    let said = without_time(line);
    (said.contains(PANICS[0]) || said.starts_with(BSD_PANIC)).then_some(said)
}

/// The emulator's first error.
pub(super) fn complaint(console: &str) -> Option<String> {
    let complaint = |line: &&str| line.starts_with(EMULATOR) && line.contains(": ") && !line.contains(": warning: ");
    console.lines().find(complaint).map(str::to_owned)
}

/// The last line of the console, without its time.
pub(super) fn last_line(console: &str) -> Option<String> {
    console.lines().last().map(without_time)
}

fn without_time(line: &str) -> String {
    let line = line.trim_start();
    let rest = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map(|(_, rest)| rest);
    rest.unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANIC: &str = "\u{1b}[2J[    0.010000] x86/fpu: x87 FPU will use FXSAVE\r\n\
        [    2.112041] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\r\n\
        [    2.112500] CPU: 0 PID: 1 Comm: swapper/0 Not tainted 6.1.0-56-amd64\r\n\
        [    2.120000] Rebooting in 1 seconds..\r\n";

    #[test]
    fn a_panic_is_recognised() {
        let console = readable(PANIC);
        assert!(console.starts_with("[2J[    0.010000]"), "{console}");
        assert_eq!(
            panic(&console).unwrap(),
            "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)"
        );
        assert_eq!(panic("[    1.0] Run /init as init process"), None);
        assert_eq!(last_line(&console).unwrap(), "Rebooting in 1 seconds..");
    }

    #[test]
    fn an_oops_counts_where_no_panic_follows() {
        let oops = "[    3.1] BUG: kernel NULL pointer dereference, address: 0000000000000000\n\
            [    3.2] Oops: 0002 [#1] PREEMPT SMP NOPTI\n";
        assert_eq!(panic(oops).unwrap(), "Oops: 0002 [#1] PREEMPT SMP NOPTI");
    }

    #[test]
    fn each_system_panics_in_its_own_words() {
        for line in ["panic: ffs_alloccg: map corrupted", "[ 12.3400561] panic: kernel diagnostic assertion failed"] {
            assert!(final_panic(line).unwrap().starts_with("panic: "), "{line}");
        }
        let linux = "[    2.1] Kernel panic - not syncing: sysrq triggered crash";
        assert_eq!(final_panic(linux).unwrap(), "Kernel panic - not syncing: sysrq triggered crash");
        for line in ["[    3.2] Oops: 0002 [#1] PREEMPT SMP NOPTI", "Command line: panic=10 x", "no panic: all is well"]
        {
            assert_eq!(final_panic(line), None, "{line}");
        }
    }

    #[test]
    fn the_emulator_complains() {
        let console = "qemu-system-x86_64: warning: TCG doesn't support requested feature\n\
            qemu-system-x86_64: unable to find CPU model 'x'\n";
        assert_eq!(complaint(console).unwrap(), "qemu-system-x86_64: unable to find CPU model 'x'");
        assert_eq!(complaint("[    1.0] qemu_fw_cfg: x"), None);
    }
}
