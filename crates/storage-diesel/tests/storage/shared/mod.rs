//! Tests that both databases run, each on its own database.

pub(crate) mod ages;
pub(crate) mod damage;
pub(crate) mod migrations;
pub(crate) mod preview;
pub(crate) mod syncing;
pub(crate) mod unreadable;

use companion_storage_diesel::{DieselStorage, OpenError};
use diesel::{Connection, connection::SimpleConnection as _};
use diesel_migrations::{FileBasedMigrations, MigrationHarness};

/// A database of one test.
pub(crate) trait Place: Sized {
    type Connection: MigrationHarness<<Self::Connection as Connection>::Backend> + Connection;

    /// Folder of the migrations.
    const STEPS: &str;
    /// Alterations of the schema that only this database allows or refuses, each with the reported difference.
    const ALTERATIONS: &[(&str, &str)];

    /// Interval of the schema versions to open a database of. The server's migrations run in the same order.
    const AGES: usize;
    /// Number of rounds of concurrent starts.
    const STARTS: usize;

    fn new() -> Self;

    async fn try_open(&self) -> Result<DieselStorage, OpenError>;

    async fn open(&self) -> DieselStorage {
        self.try_open().await.unwrap()
    }

    /// Opens a connection outside the storage.
    fn connection(&self) -> Self::Connection;

    /// Runs statements on a connection outside the storage.
    fn run(&self, statements: &str) {
        self.connection().batch_execute(statements).unwrap();
    }

    /// Applies one pending migration before each of these statements.
    fn apply_next_steps(&self, statements: impl IntoIterator<Item = String>) {
        let steps = FileBasedMigrations::from_path(Self::STEPS).unwrap();
        let mut connection = self.connection();
        for statements in statements {
            connection.run_next_migration(steps.clone()).unwrap();
            connection.batch_execute(&statements).unwrap();
        }
    }

    /// Returns the names of pending migrations.
    fn pending(&self) -> Result<Vec<String>, OpenError>;

    /// Applies pending migrations, and returns their names.
    fn migrate(&self) -> Result<Vec<String>, OpenError>;

    /// Returns whether nothing was created yet.
    fn is_empty(&self) -> bool;

    /// Returns whether a connection still has staging tables, if that is visible from outside.
    fn is_staging(&self) -> bool;

    /// Returns the rating and the slot of all feedback, ordered by slot.
    fn slots(&self) -> Vec<(i64, Option<i64>)>;

    /// Converts statements to the dialect of the database: the notation of bytes differs.
    fn in_dialect(statements: &str) -> String;
}

/// Defines one test per function, on this kind of database.
macro_rules! shared_tests {
    ($place:ty: $($module:ident { $($test:ident,)+ })+) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                crate::shared::$module::$test::<$place>().await;
            })+
        })+
    };
    ($place:ty) => {
        crate::shared::shared_tests! {
            $place:
            ages { opens_a_database_of_every_schema_version_with_its_data, }
            migrations {
                lists_pending_migrations_without_creating_anything,
                one_of_several_concurrent_starts_migrates,
                rejects_a_database_of_a_newer_version,
                rejects_an_altered_schema_with_the_first_difference,
                a_schema_change_fails_the_health_check,
            }
            preview { a_preview_returns_the_tally_and_changes_nothing, }
            syncing {
                a_stalled_sync_blocks_no_writer_on_any_node,
                a_cancelled_sync_changes_nothing_and_closes_its_connection,
                slots_stay_gap_free_through_random_writes_and_syncs,
            }
            unreadable {
                removes_rows_with_invalid_keys,
                a_sync_removes_rows_with_invalid_keys,
                picks_readable_entries_with_equal_probability,
                unreadable_entries_do_not_shorten_a_page,
                skips_a_gap_among_the_slots,
                an_invalid_user_id_does_not_shorten_a_page,
                an_unreadable_change_covers_its_kind_or_yields_a_gap,
                counts_unreadable_rows_and_removes_unreadable_reports,
            }
        }
    };
}

pub(crate) use shared_tests;
