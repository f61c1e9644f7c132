//! Places for databases: a file, and a schema on a PostgreSQL server of the tests' own. Each test of the store runs on both.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod server;

use faultline_store::Store;
use server::Server;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// A place for one database, that does not exist yet.
pub struct Place {
    /// The path or URL.
    pub db: PathBuf,
    directory: Option<TempDir>,
}

impl Place {
    /// A file in a directory of its own.
    pub fn file() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Place { db: directory.path().join("db.sqlite"), directory: Some(directory) }
    }

    /// A new schema on the server that all tests of the program share.
    pub fn schema() -> Self {
        Self::schema_of(shared())
    }

    /// A new schema on a server.
    pub fn schema_of(server: &Server) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only the numbers have to differ.
        let schema = format!("place_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut client = postgres::Client::connect(&server.url("postgres", "public"), postgres::NoTls).unwrap();
        client.batch_execute(&format!("CREATE SCHEMA {schema}")).unwrap();
        Place { db: server.url("postgres", &schema).into(), directory: None }
    }

    /// Creates the database, or opens it.
    pub fn store(&self) -> Store {
        Store::open_or_create(&self.db).unwrap()
    }

    pub fn is_file(&self) -> bool {
        self.directory.is_some()
    }

    /// The directory of the file.
    pub fn directory(&self) -> &Path {
        self.directory.as_ref().unwrap().path()
    }

    /// Executes SQL on a connection of its own.
    pub fn sql(&self, statements: &str) {
        if self.is_file() {
            self.sqlite().execute_batch(statements).unwrap();
        } else {
            self.postgres().batch_execute(statements).unwrap();
        }
    }

    /// Another connection to the file.
    pub fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.db).unwrap()
    }

    /// Another connection to the server.
    pub fn postgres(&self) -> postgres::Client {
        postgres::Client::connect(self.db.to_str().unwrap(), postgres::NoTls).unwrap()
    }
}

/// The server that all tests of the program share.
pub fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// Runs a test in a file and on a server.
pub fn each(test: impl Fn(&Place)) {
    for place in [Place::file(), Place::schema()] {
        // Shown if the test fails.
        println!("in {}", place.db.display());
        test(&place);
    }
}
