//! The kernel's tasks: their stacks, and the page tables of their address spaces.

use super::mapped::Mapped;
use crate::kernel_layout::PAGE_BYTES;
use crate::layouts::Layouts;
use std::collections::BTreeSet;

/// More than any guest has.
const MOST_TASKS: usize = 1 << 16;

/// Bytes of a stack on x86-64, where the kernel does not say.
const STACK_BYTES: u64 = 4 * PAGE_BYTES;

/// Bytes of a task's name.
const NAME_BYTES: usize = 16;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) name: String,
    /// First byte of its stack.
    pub(super) stack: u64,
    pub(super) stack_bytes: u64,
}

/// What is known of the tasks.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) tasks: Vec<Task>,
    /// Virtual addresses of their topmost page tables.
    pub(super) page_tables: BTreeSet<u64>,
}

/// All tasks, with each CPU's idle task; none if the kernel's layout is not known.
pub(super) fn tasks(mapped: &Mapped<'_>, layouts: &Layouts, per_cpu_offsets: &[u64]) -> Tasks {
    read(mapped, layouts, per_cpu_offsets).unwrap_or_default()
}

fn read(mapped: &Mapped<'_>, layouts: &Layouts, per_cpu_offsets: &[u64]) -> Option<Tasks> {
    let table = &mapped.symbols.table;
    let first = table.address_of("init_task")?;
    let task = layouts.structure("task_struct")?;
    let of_task = |name: &str| layouts.field(task, name).map(|field| field.offset);
    let thread_list = layouts.field(layouts.structure("signal_struct")?, "thread_head")?.offset;
    let (tasks, signal, node) = (of_task("tasks")?, of_task("signal")?, of_task("thread_node")?);
    let mut addresses = BTreeSet::from([first]);
    if let Some(idle) = table.address_of("idle_threads") {
        addresses.extend(per_cpu_offsets.iter().filter_map(|offset| mapped.word(idle.wrapping_add(*offset))));
    }
    for entry in mapped.list(first.wrapping_add(tasks), MOST_TASKS) {
        let leader = entry.wrapping_sub(tasks);
        let Some(signal) = mapped.word(leader.wrapping_add(signal)) else { continue };
        let threads = mapped.list(signal.wrapping_add(thread_list), MOST_TASKS);
        addresses.extend(threads.into_iter().map(|entry| entry.wrapping_sub(node)));
    }
    let mut found = Tasks::default();
    let root = layouts.field(layouts.structure("mm_struct")?, "pgd")?.offset;
    let stack_bytes = |address: u64| {
        let area = mapped.word(address.wrapping_add(of_task("stack_vm_area")?)).filter(|&area| area != 0)?;
        let size = layouts.field(layouts.structure("vm_struct")?, "size")?.offset;
        // The last page of the area is a guard page.
        mapped.word(area.wrapping_add(size))?.checked_sub(PAGE_BYTES)
    };
    for address in addresses {
        let word = |offset: u64| mapped.word(address.wrapping_add(offset));
        if let Some(mm) = of_task("mm").and_then(word).filter(|&mm| mm != 0) {
            found.page_tables.extend(mapped.word(mm.wrapping_add(root)));
        }
        if let (Some(stack), Some(name)) = (of_task("stack").and_then(word), of_task("comm")) {
            let name = mapped.text(address.wrapping_add(name), NAME_BYTES).unwrap_or_default();
            found.tasks.push(Task { name, stack, stack_bytes: stack_bytes(address).unwrap_or(STACK_BYTES) });
        }
    }
    Some(found)
}
