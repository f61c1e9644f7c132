//! Databases on a PostgreSQL server: their addresses, passwords, encryption, connections and locks.

mod address;
mod connect;
mod encryption;
mod locks;
mod password;
mod session_name;

pub(crate) use address::Address;
pub(crate) use connect::connect;
pub(crate) use locks::{Held, hold, hold_until_the_transaction_ends, is_free, wait_for};
