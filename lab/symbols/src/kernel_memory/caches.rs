//! The kernel's caches of allocated objects (SLUB): their names and sizes, and the type of their objects.

use super::mapped::Mapped;
use crate::layouts::{Layouts, TypeId};

/// More than any kernel has.
const MOST_CACHES: usize = 4096;

/// More than an object of any cache has.
const MOST_BYTES: u64 = 64 << 20;

/// Longer than the name of any cache.
const LONGEST_NAME: usize = 128;

/// In the name of each cache that serves allocations of a size.
const SIZE_CLASS: &str = "kmalloc-";

/// Caches whose name does not lead to the name of their objects' type.
const IRREGULAR: &[(&str, &str)] = &[
    ("filp", "file"),
    ("mnt_cache", "mount"),
    ("numa_policy", "mempolicy"),
    ("uid_cache", "user_struct"),
    ("sock_inode_cache", "socket_alloc"),
    ("radix_tree_node", "xa_node"),
    ("skbuff_head_cache", "sk_buff"),
    ("skbuff_fclone_cache", "sk_buff_fclones"),
    ("eventpoll_epi", "epitem"),
    ("eventpoll_pwq", "eppoll_entry"),
    ("posix_timers_cache", "k_itimer"),
    ("bdev_cache", "bdev_inode"),
    ("blkdev_ioc", "io_context"),
    ("cred_jar", "cred"),
    ("TCP", "tcp_sock"),
    ("UDP", "udp_sock"),
    ("UNIX", "unix_sock"),
];

/// Endings of a cache's name that its type's name lacks.
const CACHE_ENDINGS: &[&str] = &["_cache", "_cachep", "_jar", ""];

/// Endings of a type's name that its cache's name lacks.
const TYPE_ENDINGS: &[&str] = &["", "_struct", "_info"];

/// A cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cache {
    /// Its `struct kmem_cache`.
    pub(crate) address: u64,
    pub(crate) name: String,
    /// Bytes from an object to the next.
    pub(crate) stride: u64,
    /// Bytes of an object.
    pub(crate) object_bytes: u64,
    /// It serves allocations of up to that size, whatever they are.
    pub(crate) is_size_class: bool,
    /// The type of its objects.
    pub(crate) object: Option<TypeId>,
}

/// All caches; none if the kernel's layout is not known.
pub(super) fn caches(mapped: &Mapped<'_>, layouts: &Layouts) -> Vec<Cache> {
    read(mapped, layouts).unwrap_or_default()
}

fn read(mapped: &Mapped<'_>, layouts: &Layouts) -> Option<Vec<Cache>> {
    let head = mapped.symbols.table.address_of("slab_caches")?;
    let cache = layouts.structure("kmem_cache")?;
    let list = layouts.field(cache, "list")?.offset;
    let number = |at: u64, name: &str| {
        let field = layouts.field(cache, name)?;
        mapped.number(at.wrapping_add(field.offset), layouts.size(field.at)?)
    };
    let one = |entry: u64| {
        let address = entry.wrapping_sub(list);
        let name = mapped.text(number(address, "name")?, LONGEST_NAME)?;
        let (stride, object_bytes) = (number(address, "size")?, number(address, "object_size")?);
        // Several caches share it. Those that exist from the start have −1: nothing is merged with them.
        let is_merged = number(address, "refcount")? as i32 > 1;
        let is_size_class = name.contains(SIZE_CLASS);
        let object = object_type(layouts, &name, object_bytes).filter(|_| !is_merged);
        let is_plausible = (object_bytes.max(1)..=MOST_BYTES).contains(&stride);
        is_plausible.then_some(Cache { address, name, stride, object_bytes, is_size_class, object })
    };
    Some(mapped.list(head, MOST_CACHES).into_iter().filter_map(one).collect())
}

/// The type of the objects in a cache of that name. Sizes must be equal, unless the cache is named after the type: of some
/// structures less is allocated, or more memory behind them.
fn object_type(layouts: &Layouts, name: &str, bytes: u64) -> Option<TypeId> {
    let fits = |at: &TypeId| layouts.size(*at) == Some(bytes);
    let irregular = IRREGULAR.iter().filter(|(cache, _)| *cache == name).map(|(_, of)| (*of).to_owned());
    let stems = CACHE_ENDINGS.iter().filter_map(|ending| name.strip_suffix(ending));
    let regular = stems.flat_map(|stem| TYPE_ENDINGS.iter().map(move |ending| format!("{stem}{ending}")));
    let named = irregular.chain(regular).filter_map(|name| layouts.structure(&name)).find(fits);
    named.or_else(|| layouts.structure(name))
}
