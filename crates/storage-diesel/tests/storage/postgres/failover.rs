//! A standby lags behind, and may lack changes that nodes have seen when it takes over.

use crate::{
    postgres::schema::Schema,
    sample::{session, sign_in, user},
    shared::Place,
};
use companion_domain::{
    change::{Changes, Revision},
    model::Secret,
    port::{ChangeFeed, Record, Records, SessionStore, StoreErrorKind},
};
use companion_storage_diesel::{DieselStorage, PostgresOptions};
use diesel::{
    Connection, PgConnection, RunQueryDsl,
    connection::SimpleConnection,
    dsl::sql,
    sql_types::{BigInt, Bool},
};
use std::time::{Duration, Instant};
use xtask::postgres::{Cluster, Shutdown};

/// Timeout after which the test fails.
const TIMEOUT: Duration = Duration::from_secs(30);

async fn open(schema: &Schema, url: String) -> DieselStorage {
    let mut options = PostgresOptions { url: Secret::new(url), ..schema.options() };
    options.limits.max_write_wait = Duration::from_secs(5);
    DieselStorage::open_postgres(options).await.unwrap()
}

/// Waits until the standby has this many changes, and stops replication: later commits never reach it.
fn cut_off(standby: &mut PgConnection, revision: i64) {
    let (has, begun) = (sql::<BigInt>("SELECT revision FROM history"), Instant::now());
    while has.clone().get_result::<i64>(standby).is_ok_and(|has| has < revision) {
        assert!(begun.elapsed() < TIMEOUT, "the standby does not catch up");
    }
    standby.batch_execute("ALTER SYSTEM SET primary_conninfo = ''").unwrap();
    standby.batch_execute("SELECT pg_reload_conf()").unwrap();
    let receiving = sql::<Bool>("SELECT EXISTS (SELECT FROM pg_stat_wal_receiver)");
    while receiving.clone().get_result::<bool>(standby).unwrap() {
        assert!(begun.elapsed() < TIMEOUT, "the standby still receives");
    }
}

/// Returns the changes once the storage is connected to the new primary.
async fn told_after_failover(storage: &DieselStorage, revision: Revision) -> Changes {
    let begun = Instant::now();
    loop {
        match storage.since(revision).await {
            Ok(changes) => return changes,
            Err(error) => assert!(begun.elapsed() < TIMEOUT, "{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_no_revision_of_a_standby_and_a_gap_after_failover() {
    let mut primary = Cluster::start().unwrap();
    let mut standby = primary.standby().unwrap();
    let schema = Schema::on(&primary.url_of_either(&standby));
    let storage = open(&schema, schema.url_at(&standby.url_of_either(&primary))).await;
    let [kept, lost] = [1, 2].map(session);
    sign_in(&storage, 1).await.unwrap();
    assert_eq!(
        storage.latest().await.unwrap(),
        Revision(2),
        "the standby comes first, the primary is chosen"
    );
    let mut on_standby = PgConnection::establish(&schema.url_at(&standby.url("postgres"))).unwrap();
    cut_off(&mut on_standby, 2);
    drop(on_standby);
    // The operator allows any server, including the standby.
    let any = open(&schema, format!("{}&target_session_attrs=any", schema.url())).await;
    sign_in(&any, 2).await.unwrap();
    let known = storage.latest().await.unwrap();
    assert_eq!((known, any.since(known).await.unwrap()), (Revision(4), Changes::Listed(vec![])));

    // The standby is readable, but cannot prove that it has everything.
    primary.stop(Shutdown::Immediate).unwrap();
    let begun = Instant::now();
    loop {
        let found = SessionStore::find(&any, &kept.id).await;
        if matches!(&found, Ok(Some(session)) if *session == kept) {
            break;
        }
        assert!(begun.elapsed() < TIMEOUT, "the standby is not found: {found:?}");
    }
    let (latest, since) = (any.latest().await.unwrap_err(), any.since(known).await.unwrap_err());
    for error in [latest, since] {
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        assert!(error.cause.to_string().contains("standby"), "{}", error.cause);
    }

    // It lacks the last revisions, and reuses their numbers.
    standby.promote().unwrap();
    let elsewhere = open(&schema, schema.url()).await;
    assert_eq!(elsewhere.revoke(&kept.id).await.unwrap(), Some(kept.clone()));
    let latest = elsewhere.latest().await.unwrap();
    assert!(latest > known, "waiting nodes are woken");
    for node in [&storage, &any] {
        assert_eq!(told_after_failover(node, known).await, Changes::Gap(latest));
    }
    for gone in [kept, lost] {
        assert_eq!(SessionStore::find(&storage, &gone.id).await.unwrap(), None);
    }

    // From here on changes are listed again, and wake waiting nodes.
    tokio::time::timeout(TIMEOUT, storage.wait_for_change(known)).await.unwrap();
    sign_in(&elsewhere, 3).await.unwrap();
    tokio::time::timeout(TIMEOUT, storage.wait_for_change(latest)).await.unwrap();
    let Changes::Listed(changes) = storage.since(latest).await.unwrap() else { panic!("a gap") };
    let revisions: Vec<_> = changes.iter().map(|change| change.revision).collect();
    assert_eq!(revisions, [1, 2].map(|after| Revision(latest.0 + after)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_change_feed_needs_no_privileges() {
    let schema = Schema::new();
    let role = format!("plain_{}", std::process::id());
    schema.run(&format!("DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN"));
    schema.run(&format!("ALTER SCHEMA {} OWNER TO {role}", schema.name()));
    let url = schema.url().replacen("://companion@", &format!("://{role}@"), 1);
    let options = PostgresOptions { url: Secret::new(url), ..schema.options() };
    let storage = DieselStorage::open_postgres(options).await.unwrap();
    storage.put(Record::Blocked(user(1))).await.unwrap();
    assert_eq!(storage.latest().await.unwrap(), Revision(1));
    assert_eq!(storage.since(Revision(1)).await.unwrap(), Changes::Listed(vec![]));
    storage.close().await;
    schema.run(&format!("REASSIGN OWNED BY {role} TO CURRENT_USER; DROP OWNED BY {role}; DROP ROLE {role}"));
}
