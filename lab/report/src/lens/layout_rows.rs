//! The rows of a cache line as they are shown: of an expanded union only what was accessed, and members that are alone in a
//! structure in one row with it.

use faultline_model::lens::layout::Keyword;
use faultline_model::lens::types::{LayoutRow, RowKind};

/// A row with those of its members.
struct Node<'a> {
    row: &'a LayoutRow,
    inner: Vec<Node<'a>>,
}

/// A row as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct ShownRow<'a> {
    /// The member itself, or the innermost of those that share the row.
    pub(crate) row: &'a LayoutRow,
    /// Names of the structures that share the row with it, the outermost first.
    pub(crate) before: Vec<&'a str>,
    /// The type of the outermost.
    pub(crate) of: &'a str,
    /// How far it is indented.
    pub(crate) depth: usize,
}

/// The rows of a line.
pub(crate) fn shown(rows: &[LayoutRow]) -> Vec<ShownRow<'_>> {
    let mut shown = Vec::new();
    for node in nodes(&mut rows.iter().peekable(), 0) {
        put(&simplified(node), 0, &mut shown);
    }
    shown
}

/// The rows from that depth on, as trees.
fn nodes<'a>(rows: &mut std::iter::Peekable<std::slice::Iter<'a, LayoutRow>>, depth: u32) -> Vec<Node<'a>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next_if(|row| row.depth >= depth) {
        found.push(Node { row, inner: nodes(rows, row.depth + 1) });
    }
    found
}

fn simplified(node: Node<'_>) -> Node<'_> {
    let mut inner: Vec<Node<'_>> = node.inner.into_iter().map(simplified).collect();
    if node.row.keyword == Some(Keyword::Union) && inner.iter().any(is_used) {
        inner.retain(is_used);
    }
    Node { row: node.row, inner }
}

/// Whether it was accessed, here or on another line.
fn is_used(node: &Node<'_>) -> bool {
    node.row.moved.transfers > 0.0 || node.row.used_by_others > 0.0 || node.inner.iter().any(is_used)
}

fn put<'a>(node: &Node<'a>, depth: usize, shown: &mut Vec<ShownRow<'a>>) {
    let (mut node, mut before) = (node, Vec::new());
    let of = node.row.of.as_str();
    while let [only] = &node.inner[..]
        && node.row.moved.transfers == 0.0
        && !node.row.is_continued
        && only.row.kind != RowKind::Hole
    {
        before.extend(node.row.name.as_deref());
        node = only;
    }
    // What has neither a name nor figures only groups its members.
    let is_bare = node.row.kind == RowKind::Outer && node.row.name.is_none() && before.is_empty();
    let is_group = is_bare && node.row.moved.transfers == 0.0 && (node.row.is_continued || node.row.depth == 0);
    if !is_group {
        shown.push(ShownRow { row: node.row, before, of, depth });
    }
    let inner = if is_group { depth } else { depth + 1 };
    node.inner.iter().for_each(|node| put(node, inner, shown));
}
