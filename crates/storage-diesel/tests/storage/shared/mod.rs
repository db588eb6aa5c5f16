//! Tests that both databases run, each on its own database.

pub(crate) mod ages;
pub(crate) mod damage;
pub(crate) mod preview;
pub(crate) mod unreadable;

use companion_storage_diesel::DieselStorage;

/// A database of one test.
pub(crate) trait Place: Sized {
    /// Folder of the migrations.
    const STEPS: &str;

    fn new() -> Self;

    async fn open(&self) -> DieselStorage;

    /// Runs statements on a connection outside the storage.
    fn run(&self, statements: &str);

    /// Applies one pending migration before each of these statements.
    fn apply_next_steps(&self, statements: impl IntoIterator<Item = String>);

    /// Returns the names of pending migrations.
    fn pending(&self) -> Vec<String>;

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
            preview { a_preview_returns_the_tally_and_changes_nothing, }
            unreadable {
                counts_skipped_rows_by_table,
                removes_and_forgets_unreadable_rows,
                a_sync_removes_rows_with_invalid_keys,
                picks_readable_entries_with_equal_probability,
                unreadable_entries_do_not_shorten_a_page,
                skips_a_gap_among_the_slots,
                an_invalid_user_id_does_not_shorten_a_page,
                an_unreadable_change_covers_its_kind_or_yields_a_gap,
                removes_unreadable_reports_with_silent_clusters,
            }
        }
    };
}

pub(crate) use shared_tests;
