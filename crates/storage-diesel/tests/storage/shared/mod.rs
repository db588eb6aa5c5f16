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
            ages { a_database_of_every_age_is_opened_and_everything_in_it_is_found, }
            preview { a_preview_tells_what_a_sync_would_change_and_leaves_no_trace, }
            unreadable {
                every_row_that_is_left_out_is_counted_by_its_table,
                removing_and_forgetting_work_on_it,
                a_sync_takes_away_even_what_has_no_key_that_makes_sense,
                few_readable_entries_among_many_have_the_same_chance_each,
                entries_that_cannot_be_read_make_no_page_short,
                a_hole_among_the_slots_is_left_out_too,
                a_page_of_users_is_not_cut_short_by_one_that_is_none,
                a_change_that_cannot_be_read_is_a_change_of_its_kind_or_of_everything,
                a_report_that_cannot_be_read_is_forgotten_with_the_silent_ones,
            }
        }
    };
}

pub(crate) use shared_tests;
