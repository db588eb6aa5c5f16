//! Errors of opening a database state the cause and the fix, and no secret.

use crate::{
    postgres::schema::{Schema, server},
    shared::Place,
};
use companion_domain::model::Secret;
use companion_storage_diesel::{DieselStorage, OpenError, PostgresOptions};
use diesel::{Connection, PgConnection, RunQueryDsl, dsl::sql, sql_types::Text};
use std::{
    error::Error,
    time::{Duration, Instant},
};
use xtask::postgres::Cluster;

const PASSWORD: &str = "canary";

/// Returns the error, after checking that neither it nor its sources contain the password.
async fn refused(url: String) -> OpenError {
    let options = PostgresOptions::new(Secret::new(url));
    assert!(!format!("{options:?}").contains(PASSWORD));
    let begun = Instant::now();
    let refused = DieselStorage::open_postgres(options).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let mut told = format!("{refused:?}");
    let mut source: Option<&dyn Error> = Some(&refused);
    while let Some(error) = source {
        told.push_str(&error.to_string());
        source = error.source();
    }
    assert!(!told.contains(PASSWORD), "{told}");
    refused
}

#[tokio::test]
async fn reports_an_unreachable_server_with_its_address() {
    // Nothing listens on port 1.
    let refused = refused(format!("postgres://me:{PASSWORD}@127.0.0.1:1/bot")).await;
    assert!(matches!(refused, OpenError::Unreachable { .. }), "{refused:?}");
    let sentence = refused.to_string();
    assert!(sentence.contains("database bot on 127.0.0.1:1") && sentence.contains("firewall"), "{sentence}");
    let refused = super::opening::refused(format!("postgres://me:{PASSWORD}@no-such-host.invalid/bot")).await;
    assert!(matches!(refused, OpenError::Unreachable { .. }), "{refused:?}");
}

#[tokio::test]
async fn reports_a_missing_database_by_name() {
    let (server, _) =
        server().rsplit_once('/').map(|(server, name)| (server.to_owned(), name.to_owned())).unwrap();
    let refused = refused(format!("{server}/nothing_here")).await;
    assert!(matches!(refused, OpenError::NoDatabase { .. }), "{refused:?}");
    let sentence = refused.to_string();
    assert!(sentence.contains("nothing_here") && sentence.contains("CREATE DATABASE"), "{sentence}");
}

#[tokio::test]
async fn does_not_repeat_an_invalid_address() {
    for url in [PASSWORD.to_owned(), format!("postgres://me:{PASSWORD}@127.0.0.1:port/bot")] {
        let refused = refused(url.clone()).await;
        assert!(matches!(refused, OpenError::Address), "{url}: {refused:?}");
    }
}

#[cfg(not(feature = "postgres-tls"))]
#[tokio::test]
async fn rejects_an_address_that_requires_missing_tls() {
    let refused = refused(format!("postgres://me:{PASSWORD}@127.0.0.1:1/bot?sslmode=require")).await;
    assert!(matches!(refused, OpenError::TlsMissing { .. }), "{refused:?}");
    assert!(refused.to_string().contains("postgres-tls"), "{refused}");
}

#[tokio::test]
async fn reports_the_missing_privilege_to_create_tables() {
    let schema = Schema::new();
    let role = format!("guest_{}", std::process::id());
    schema.run(&format!("DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN"));
    schema.run(&format!("GRANT USAGE ON SCHEMA {} TO {role}", schema.name()));
    let refused = refused(schema.url().replacen("companion@", &format!("{role}@"), 1)).await;
    schema.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    assert!(matches!(refused, OpenError::Forbidden { .. }), "{refused:?}");
    assert!(refused.to_string().contains("GRANT"), "{refused}");
}

#[tokio::test]
async fn reports_a_wrong_password_without_showing_it() {
    let cluster = Cluster::start().unwrap();
    let schema = Schema::on(&cluster.url("postgres"));
    let rules: String = sql::<Text>("SHOW hba_file").get_result(&mut schema.connection()).unwrap();
    std::fs::write(
        rules,
        "host all companion 127.0.0.1/32 trust\nhost all guarded 127.0.0.1/32 scram-sha-256\n",
    )
    .unwrap();
    schema.run("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'canary'; SELECT pg_reload_conf()");
    let url = |password: &str| schema.url().replacen("companion@", &format!("guarded:{password}@"), 1);
    // The server reloads its rules asynchronously.
    let begun = Instant::now();
    while PgConnection::establish(&url("")).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(30), "still lets everyone in");
    }
    let options = PostgresOptions::new(Secret::new(url(PASSWORD)));
    DieselStorage::open_postgres(options).await.unwrap().close().await;
    for wrong in ["not-canary", ""] {
        let refused = refused(url(wrong)).await;
        assert!(matches!(refused, OpenError::LoginRefused { .. }), "{refused:?}");
        let sentence = refused.to_string();
        assert!(sentence.contains("pg_hba.conf") && sentence.contains("database postgres on"), "{sentence}");
    }
}
