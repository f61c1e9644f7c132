//! The commands: each turns its arguments into a request, and shows the result.

pub(crate) mod bisect;
pub(crate) mod ci;
pub(crate) mod compare;
pub(crate) mod generate;
pub(crate) mod history;
pub(crate) mod lens;
pub(crate) mod measure;
pub(crate) mod share;
pub(crate) mod stored;
pub(crate) mod trust;

mod building;
mod measuring;
mod result;
