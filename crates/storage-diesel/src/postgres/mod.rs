//! What is specific to PostgreSQL: the server, its sessions, migrations, notifications and error messages.

mod address;
pub(crate) mod connect;
pub(crate) mod fault;
pub(crate) mod migration;
pub(crate) mod notification;
mod options;

pub use self::{address::AddressError, options::PostgresOptions};

/// A schema for one test of this crate.
#[cfg(test)]
pub(crate) mod scratch {
    use super::PostgresOptions;
    use companion_domain::model::Secret;
    use diesel::{Connection, PgConnection, connection::SimpleConnection};

    /// An empty schema on the test server, dropped at the end.
    pub(crate) struct Scratch(String);

    impl Scratch {
        pub(crate) fn new(name: &str) -> Self {
            let schema = Self(format!("{name}_{}", std::process::id()));
            schema.outside(&format!("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}", schema.0));
            schema
        }

        fn url(&self) -> String {
            let more = if server().contains('?') { '&' } else { '?' };
            format!("{}{more}options=-csearch_path%3D{}", server(), self.0)
        }

        pub(crate) fn options(&self) -> PostgresOptions {
            PostgresOptions::new(Secret::new(self.url()))
        }

        pub(crate) fn connect(&self) -> PgConnection {
            PgConnection::establish(&self.url()).unwrap()
        }

        fn outside(&self, statements: &str) {
            let mut outside = PgConnection::establish(&server()).unwrap();
            let settings = "SET client_min_messages = warning; SET lock_timeout = '5s'";
            outside.batch_execute(&format!("{settings}; {statements}")).unwrap();
        }
    }

    fn server() -> String {
        std::env::var(xtask::postgres::VARIABLE).unwrap()
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            self.outside(&format!("DROP SCHEMA {} CASCADE", self.0));
        }
    }
}
