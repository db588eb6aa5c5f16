//! All storage ports over one store.

/// Generates one test per behaviour of every storage port, and of the relations between them. Takes an expression,
/// which may await, that returns a `Fresh<Stores>`.
#[macro_export]
macro_rules! storage_conformance {
    ($fresh:expr $(,)?) => {
        async fn storage() -> $crate::conformance::Fresh<$crate::conformance::Stores> {
            $fresh
        }

        $crate::bot_telemetry_conformance!(storage().await);
        $crate::change_feed_conformance!(storage().await);
        $crate::feedback_store_conformance!(storage().await);
        $crate::grant_store_conformance!(storage().await.port(|stores| &stores.grants));
        $crate::guild_directory_conformance!(storage().await);
        $crate::health_conformance!(storage().await.port(|stores| &stores.health));
        $crate::listings_conformance!(storage().await);
        $crate::records_conformance!(storage().await);
        $crate::session_store_conformance!(storage().await.port(|stores| &stores.sessions));
        $crate::sessions_and_grants_conformance!(storage().await);
        $crate::settings_store_conformance!(storage().await);
        $crate::sign_ins_conformance!(storage().await);
        $crate::spent_codes_conformance!(storage().await.port(|stores| &stores.spent_codes));
        $crate::status_history_conformance!(storage().await);
        $crate::team_roster_conformance!(storage().await);
    };
}
