// SPDX-License-Identifier: GPL-2.0-or-later
//! The processes of a machine and the programs that they run. Independent of QEMU.
//!
//! A process is recognised by its page table. A CPU that has changed its page table shows at its
//! next return to user mode what it runs: a new program begins with all registers zero, and the
//! name of its file is behind its first stack pointer. A forked process continues where its parent
//! called the kernel, with a result of zero, and runs its parent's program. All others have
//! returned before.
//!
//! Sources: Linux's `ELF_PLAT_INIT` and `create_elf_tables` (x86-64); fork(2), clone(2).

use std::collections::HashMap;

/// Number of a program in [`Processes`]; 0 for an unknown one.
pub(crate) type ProgramId = u16;

/// Bits of the page-table register with the address of a page table, without flags and
/// identifiers.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// Bit by which the addresses of the kernel's and of the user's table of one process differ under
/// page-table isolation (`PTI_PGTABLE_SWITCH_BIT`): the pair begins at an even page, and user mode
/// has the second one. Without isolation a table may be at any page.
const SECOND_OF_PAIR: u64 = 1 << 12;

/// Maximum number of forks whose children have not run yet.
const MOST_FORKS: usize = 4096;

/// The state of a CPU that is about to return to user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Return {
    /// The next instruction.
    pub(crate) instruction: u64,
    /// The stack pointer.
    pub(crate) stack: u64,
    /// The result of a system call.
    pub(crate) result: u64,
    /// All other registers are zero too: a program begins.
    pub(crate) is_blank: bool,
}

/// A call of `fork` or its like, whose child has not run yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fork {
    instruction: u64,
    stack: u64,
    program: ProgramId,
}

/// A program that processes ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The name of its file, without directories; empty for the unknown program.
    pub(crate) name: String,
    /// Number of processes that ran it.
    pub(crate) processes: u64,
}

/// The processes of a machine.
#[derive(Debug)]
pub(crate) struct Processes {
    programs: Vec<Program>,
    /// By address of the table that user mode has.
    by_table: HashMap<u64, Known>,
    /// The kernel may isolate page tables: no CPU has returned to user mode with the first table of
    /// a pair. The register alone does not tell, because only CPUs with process-context identifiers
    /// have another bit for the user's table.
    may_isolate: bool,
    forks: Vec<Fork>,
    /// By CPU.
    running: Vec<Running>,
}

/// The process of a page table.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    program: ProgramId,
    /// First instruction and stack pointer of its program, if no other return was shown since.
    begun: Option<(u64, u64)>,
}

/// The process of a CPU.
#[derive(Debug, Clone, Copy, Default)]
struct Running {
    table: u64,
    /// The CPU has not returned to user mode since it changed its page table.
    is_new: bool,
    program: ProgramId,
}

impl Processes {
    /// A machine with that many CPUs, all of which run an unknown program.
    pub(crate) fn new(cpus: usize) -> Self {
        let unknown = Program { name: String::new(), processes: 0 };
        Processes {
            programs: vec![unknown],
            by_table: HashMap::new(),
            may_isolate: true,
            forks: Vec::new(),
            running: vec![Running::default(); cpus],
        }
    }

    /// Notes the value that a CPU is about to load into its page-table register. Returns the
    /// program of that table, as far as it is known.
    pub(crate) fn change_table(&mut self, cpu: usize, register: u64) -> ProgramId {
        let (table, before) = (register & ADDRESS, self.running[cpu]);
        let is_same = table == before.table || self.may_isolate && table ^ before.table == SECOND_OF_PAIR;
        self.running[cpu] = match is_same {
            true => Running { table, ..before },
            false => Running { table, is_new: true, program: self.known(table).program },
        };
        self.running[cpu].program
    }

    /// The process of a page table, or of the other half of its pair.
    fn known(&self, table: u64) -> Known {
        let users = if self.may_isolate { table | SECOND_OF_PAIR } else { table };
        self.by_table.get(&users).copied().unwrap_or_default()
    }

    /// True if the CPU's next return to user mode has to be shown to [`Processes::enter_user`].
    pub(crate) fn is_new(&self, cpu: usize) -> bool {
        self.running.get(cpu).is_some_and(|running| running.is_new || self.disproves_isolation(running.table))
    }

    /// True if a return to user mode with that table shows that the kernel does not isolate tables.
    fn disproves_isolation(&self, table: u64) -> bool {
        self.may_isolate && table != 0 && table & SECOND_OF_PAIR == 0
    }

    /// Notes a CPU's return to user mode, and returns its program. `name` finds the path of a
    /// program that begins.
    pub(crate) fn enter_user(&mut self, cpu: usize, state: Return, name: impl FnOnce() -> Option<String>) -> ProgramId {
        if self.disproves_isolation(self.running[cpu].table) {
            self.may_isolate = false;
            // Another CPU may have the table beside that of its last process.
            let by_table = &self.by_table;
            self.running.iter_mut().for_each(|running| {
                running.program = by_table.get(&running.table).map_or(0, |known| known.program);
                running.is_new = true;
            });
        }
        let Running { table, program: before, .. } = self.running[cpu];
        let begins_at = state.is_blank.then_some((state.instruction, state.stack));
        let path = if state.is_blank { name().unwrap_or_default() } else { String::new() };
        // A program whose first page is fetched returns twice to its first instruction, and another
        // process may run meanwhile. Another program may begin there too, in the same table.
        let has_begun =
            state.is_blank && self.known(table).begun == begins_at && self.is_named(before, file_name(&path));
        let program = match self.forked(state) {
            _ if has_begun => before,
            _ if state.is_blank => self.begun(file_name(&path)),
            Some(parents) => {
                self.programs[usize::from(parents)].processes += 1;
                parents
            }
            None => before,
        };
        self.by_table.insert(table, Known { program, begun: begins_at });
        self.running[cpu] = Running { table, is_new: false, program };
        program
    }

    /// The number of a program that begins. Programs beyond those that can be numbered are unknown.
    fn begun(&mut self, name: &str) -> ProgramId {
        let known = self.programs.iter().position(|program| program.name == name);
        let number = known.unwrap_or(self.programs.len());
        let Ok(program) = ProgramId::try_from(number) else { return 0 };
        if known.is_none() {
            self.programs.push(Program { name: name.to_owned(), processes: 0 });
        }
        self.programs[number].processes += 1;
        program
    }

    /// Notes a system call that creates a process with a page table of its own. `instruction`: the
    /// one after the call; `stack`: the child's stack pointer.
    pub(crate) fn fork(&mut self, cpu: usize, instruction: u64, stack: u64) {
        if self.forks.len() == MOST_FORKS {
            self.forks.remove(0);
        }
        let program = self.running[cpu].program;
        self.forks.push(Fork { instruction, stack, program });
    }

    /// The program of a forked process that runs for the first time; `None` for others.
    fn forked(&mut self, state: Return) -> Option<ProgramId> {
        let is_it = |fork: &Fork| (fork.instruction, fork.stack) == (state.instruction, state.stack);
        let at = self.forks.iter().rposition(is_it).filter(|_| state.result == 0 && !state.is_blank)?;
        Some(self.forks.remove(at).program)
    }

    /// The programs by number.
    pub(crate) fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// True if a program has that name.
    pub(crate) fn is_named(&self, program: ProgramId, name: &str) -> bool {
        self.programs.get(usize::from(program)).is_some_and(|program| program.name == name)
    }
}

/// A path without directories.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Number by which the kernel tells a program the path of its own file (`AT_EXECFN`).
const PATH: u64 = 31;

/// Maximum number of words between a program's first stack pointer and the path: arguments and
/// variables take one each.
const MOST_WORDS: usize = 1 << 20;

/// The address of the path of a program that begins, from the words at its first stack pointer:
/// number of arguments, arguments, 0, variables, 0, then pairs of number and value.
pub(crate) fn path_address(words: impl Iterator<Item = u64>) -> Option<u64> {
    let mut words = words.take(MOST_WORDS);
    words.next()?;
    for _ in 0..2 {
        words.find(|&word| word == 0)?;
    }
    loop {
        match (words.next()?, words.next()?) {
            (PATH, address) => return Some(address),
            (0, _) => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORK: u64 = 0x7f00_1000;
    const STACK: u64 = 0x7ffe_2000;

    fn blank() -> Return {
        Return { instruction: 0x40_0000, stack: STACK, result: 0, is_blank: true }
    }

    fn from_call(result: u64) -> Return {
        Return { instruction: FORK, stack: STACK, result, is_blank: false }
    }

    fn begin(processes: &mut Processes, cpu: usize, table: u64, path: &str) -> ProgramId {
        processes.change_table(cpu, table);
        processes.enter_user(cpu, blank(), || Some(path.to_owned()))
    }

    #[test]
    fn a_program_is_known_by_its_page_table_on_every_cpu() {
        let mut processes = Processes::new(2);
        let server = begin(&mut processes, 0, 0x1000_0000, "/usr/bin/server");
        let client = begin(&mut processes, 1, 0x2000_0000, "client");
        assert!(server != client && processes.is_named(server, "server") && !processes.is_named(server, "client"));
        // The identifier in the low bits and the flag at the top do not matter.
        assert_eq!(processes.change_table(1, 0x8000_0000_1000_0801), server);
        assert!(processes.is_new(1));
        assert_eq!(processes.enter_user(1, from_call(5), || panic!("it began before")), server);
        assert!(!processes.is_new(1));
        assert_eq!(processes.change_table(1, 0x1000_0002), server);
        assert!(!processes.is_new(1), "the same table");
    }

    #[test]
    fn a_pair_of_isolated_tables_is_one_process() {
        let mut processes = Processes::new(2);
        let server = begin(&mut processes, 0, 0x1000_1802, "server");
        let client = begin(&mut processes, 1, 0x2000_1000, "client");
        for kernels in [0x1000_0002, 0x1000_0000] {
            assert_eq!(processes.change_table(0, kernels), server);
            assert!(!processes.is_new(1), "it only entered the kernel");
            assert_eq!(processes.change_table(0, kernels | SECOND_OF_PAIR), server);
            assert!(!processes.is_new(0), "it comes back");
        }
        // The kernel changes from one process to the other.
        assert_eq!(processes.change_table(0, 0x2000_0000), client);
        assert_eq!(processes.change_table(0, 0x2000_1000), client);
        assert!(processes.is_new(0));
    }

    #[test]
    fn tables_in_neighbouring_pages_are_two_processes() {
        let mut processes = Processes::new(1);
        let server = begin(&mut processes, 0, 0x2000_0000, "server");
        let client = begin(&mut processes, 0, 0x2000_1000, "client");
        assert_ne!(server, client);
        assert_eq!([0x2000_0000, 0x2000_1000].map(|table| processes.change_table(0, table)), [server, client]);
    }

    #[test]
    fn a_second_table_of_a_pair_that_comes_first_is_told_from_the_first() {
        let mut processes = Processes::new(2);
        let client = begin(&mut processes, 0, 0x2000_1000, "client");
        processes.change_table(1, 0x2000_1000);
        processes.enter_user(1, from_call(3), || None);
        processes.change_table(0, 0x2000_0000);
        assert!(processes.is_new(0), "it would return to user mode with the kernel's half");
        let server = processes.enter_user(0, blank(), || Some("server".to_owned()));
        assert_ne!(server, client);
        assert!(processes.is_new(1), "it is looked at again");
        assert_eq!(processes.enter_user(1, from_call(4), || None), client);
        assert_eq!([0x2000_0000, 0x2000_1000].map(|table| processes.change_table(1, table)), [server, client]);
    }

    #[test]
    fn another_program_may_begin_in_a_table_that_is_used_again() {
        let mut processes = Processes::new(1);
        let first = begin(&mut processes, 0, 0x2000_1000, "/program/first");
        let second = begin(&mut processes, 0, 0x2000_1000, "/program/other");
        assert_ne!(first, second);
        assert_eq!(processes.programs()[usize::from(second)].processes, 1);
    }

    #[test]
    fn a_program_that_is_interrupted_at_its_first_instruction_begins_once() {
        let mut processes = Processes::new(1);
        let server = begin(&mut processes, 0, 0x1000_0000, "server");
        processes.change_table(0, 0x2000_0000);
        processes.change_table(0, 0x1000_0000);
        assert_eq!(processes.enter_user(0, blank(), || Some("server".to_owned())), server);
        assert_eq!(processes.programs()[usize::from(server)].processes, 1);
        // It executes its own file again, in a table that it had before.
        processes.change_table(0, 0x2000_0000);
        processes.change_table(0, 0x1000_0000);
        processes.enter_user(0, from_call(5), || None);
        begin(&mut processes, 0, 0x2000_0000, "other");
        begin(&mut processes, 0, 0x1000_0000, "server");
        assert_eq!(processes.programs()[usize::from(server)].processes, 2);
    }

    #[test]
    fn a_child_runs_its_parents_program_until_it_begins_another() {
        let mut processes = Processes::new(2);
        let server = begin(&mut processes, 0, 0x1000_0000, "server");
        // The page table belonged to a process that has ended.
        let other = begin(&mut processes, 1, 0x2000_0000, "other");
        processes.fork(0, FORK, STACK);
        assert_eq!(processes.change_table(1, 0x3000_0000), 0);
        processes.change_table(1, 0x2000_0000);
        assert_eq!(processes.enter_user(1, from_call(0), || None), server);
        let again = begin(&mut processes, 1, 0x4000_0000, "server");
        assert_eq!((again, processes.programs()[usize::from(server)].processes), (server, 3));
        assert_eq!(processes.change_table(0, 0x2000_0000), server);
        assert_eq!(processes.enter_user(0, from_call(0), || None), server, "the fork has its child");
        assert_eq!(processes.programs()[usize::from(other)].processes, 1);
    }

    #[test]
    fn a_parent_that_returns_first_is_no_child() {
        let mut processes = Processes::new(2);
        let server = begin(&mut processes, 0, 0x1000_0000, "server");
        processes.fork(0, FORK, STACK);
        processes.change_table(0, 0x5000_0000);
        processes.change_table(0, 0x1000_0000);
        processes.enter_user(0, from_call(77), || None);
        processes.change_table(1, 0x6000_0000);
        let elsewhere = Return { stack: STACK + 8, ..from_call(0) };
        assert_eq!(processes.enter_user(1, elsewhere, || None), 0, "on another stack");
        processes.change_table(1, 0x2000_0000);
        assert_eq!(processes.enter_user(1, from_call(0), || None), server);
    }

    #[test]
    fn the_path_is_behind_arguments_and_variables() {
        let words = |tail: &[u64]| [&[2, 0x7000, 0x7010, 0, 0x7020, 0][..], tail].concat();
        assert_eq!(path_address(words(&[6, 4096, 31, 0x7fff_1234, 0, 0]).into_iter()), Some(0x7fff_1234));
        assert_eq!(path_address(words(&[6, 4096, 0, 0, 31, 5]).into_iter()), None);
        assert_eq!(path_address(words(&[6]).into_iter()), None);
        assert_eq!(path_address([0, 0, 0, 31, 7].into_iter()), Some(7));
    }
}
