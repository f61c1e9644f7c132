//! Databases for tests: a file, or a schema on a PostgreSQL server of the tests.

pub mod server;

use faultline_store::Store;
use server::Server;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// A place for a database that does not exist yet.
pub struct TestDatabase {
    /// Path or URL.
    pub db: PathBuf,
    directory: Option<TempDir>,
}

impl TestDatabase {
    /// A file in a directory of its own.
    pub fn file() -> Self {
        let directory = tempfile::tempdir().unwrap();
        TestDatabase { db: directory.path().join("db.sqlite"), directory: Some(directory) }
    }

    /// A new schema on the shared server.
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
        TestDatabase { db: server.url("postgres", &schema).into(), directory: None }
    }

    /// Opens the database, and creates it if necessary.
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

    /// Executes SQL on a separate connection.
    pub fn sql(&self, statements: &str) {
        if self.is_file() {
            self.sqlite().execute_batch(statements).unwrap();
        } else {
            self.postgres().batch_execute(statements).unwrap();
        }
    }

    /// A separate connection to the file.
    pub fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.db).unwrap()
    }

    /// A separate connection to the server.
    pub fn postgres(&self) -> postgres::Client {
        postgres::Client::connect(self.db.to_str().unwrap(), postgres::NoTls).unwrap()
    }
}

/// The server shared by all tests of the program.
pub fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// Runs a test on a file and on a server.
pub fn each(test: impl Fn(&TestDatabase)) {
    for place in [TestDatabase::file(), TestDatabase::schema()] {
        // Shown if the test fails.
        println!("in {}", place.db.display());
        test(&place);
    }
}
