//! A standby lags behind, and may lack changes that nodes have seen when it takes over.

use crate::{
    postgres::schema::Schema,
    sample::{CAP, NOTHING_ENDED, session, user},
    shared::Place,
};
use companion_domain::{
    change::{Changes, Revision},
    model::Secret,
    port::{BlockList, ChangeFeed, Record, Records, SessionStore, StoreErrorKind},
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

/// A primary, its standby, and a schema on both.
struct Pair {
    schema: Schema,
    primary: Cluster,
    standby: Cluster,
}

impl Pair {
    fn start() -> Self {
        let primary = Cluster::start().unwrap();
        let standby = primary.standby().unwrap();
        let both = format!("{},{}/postgres", authority(&primary), place(&standby));
        Self { schema: Schema::on(&both), primary, standby }
    }

    /// Options with the addresses of both servers.
    fn options(&self) -> PostgresOptions {
        PostgresOptions { max_write_wait: Duration::from_secs(5), ..self.schema.options() }
    }

    async fn open(&self) -> DieselStorage {
        DieselStorage::open_postgres(self.options()).await.unwrap()
    }

    fn on_standby(&self) -> PgConnection {
        PgConnection::establish(&self.schema.url_at(&self.standby.url("postgres"))).unwrap()
    }

    /// Waits until the standby has this many changes.
    fn caught_up(&self, revision: i64) {
        let mut standby = self.on_standby();
        let (has, begun) = (sql::<BigInt>("SELECT revision FROM history"), Instant::now());
        while has.clone().get_result::<i64>(&mut standby).is_ok_and(|has| has < revision) {
            assert!(begun.elapsed() < TIMEOUT, "the standby does not catch up");
        }
    }

    /// Stops replication: later commits never reach the standby.
    fn cut_off_standby(&self) {
        let mut standby = self.on_standby();
        standby.batch_execute("ALTER SYSTEM SET primary_conninfo = ''").unwrap();
        standby.batch_execute("SELECT pg_reload_conf()").unwrap();
        let receiving = sql::<Bool>("SELECT EXISTS (SELECT FROM pg_stat_wal_receiver)");
        let begun = Instant::now();
        while receiving.clone().get_result::<bool>(&mut standby).unwrap() {
            assert!(begun.elapsed() < TIMEOUT, "the standby still receives");
        }
    }

    /// Stops the primary and promotes the standby.
    fn fail_over(&mut self) {
        self.primary.stop(Shutdown::Immediate).unwrap();
        self.standby.promote().unwrap();
    }
}

/// Returns the address of a server up to the database.
fn authority(cluster: &Cluster) -> String {
    cluster.url("").trim_end_matches('/').to_owned()
}

fn place(cluster: &Cluster) -> String {
    authority(cluster).split_once('@').unwrap().1.to_owned()
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
async fn uses_the_primary_and_reports_no_revision_of_a_standby() {
    let mut pair = Pair::start();
    let standby_first = format!("{},{}/postgres", authority(&pair.standby), place(&pair.primary));
    let url = Secret::new(pair.schema.url_at(&standby_first));
    let storage = DieselStorage::open_postgres(PostgresOptions { url, ..pair.options() }).await.unwrap();
    storage.put(Record::Blocked(user(2))).await.unwrap();
    assert_eq!(storage.latest().await.unwrap(), Revision(1));

    // The operator allows any server, including the standby.
    let url = format!("{}&target_session_attrs=any", pair.schema.url());
    let any = PostgresOptions { url: Secret::new(url), ..pair.options() };
    let storage = DieselStorage::open_postgres(any).await.unwrap();
    storage.put(Record::Blocked(user(1))).await.unwrap();
    let known = storage.latest().await.unwrap();
    assert_eq!(storage.since(known).await.unwrap(), Changes::Listed(vec![]));
    pair.caught_up(2);
    pair.primary.stop(Shutdown::Fast).unwrap();

    // The standby is readable and has everything, but cannot prove it.
    let begun = Instant::now();
    while storage.is_blocked(user(1)).await.ok() != Some(true) {
        assert!(begun.elapsed() < TIMEOUT, "the standby is not found");
    }
    let (latest, since) = (storage.latest().await.unwrap_err(), storage.since(known).await.unwrap_err());
    for error in [latest, since] {
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        assert!(error.cause.to_string().contains("standby"), "{}", error.cause);
    }
    pair.standby.promote().unwrap();
    assert!(matches!(told_after_failover(&storage, known).await, Changes::Gap(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn reused_revisions_after_failover_yield_a_gap() {
    let mut pair = Pair::start();
    let storage = pair.open().await;
    let [kept, lost, other] = [1, 2, 3].map(session);
    storage.create(&kept, CAP, NOTHING_ENDED).await.unwrap();
    pair.caught_up(1);
    pair.cut_off_standby();
    storage.create(&lost, CAP, NOTHING_ENDED).await.unwrap();

    let known = storage.latest().await.unwrap();
    assert_eq!(known, Revision(2));

    // The standby lacks the second revision, and reuses its number.
    pair.fail_over();
    let elsewhere = pair.open().await;
    assert_eq!(elsewhere.revoke(&kept.id).await.unwrap(), Some(kept.clone()));
    let changes = told_after_failover(&storage, known).await;
    let latest = elsewhere.latest().await.unwrap();
    assert_eq!(changes, Changes::Gap(latest));
    assert!(latest > known, "waiting nodes are woken");

    for gone in [kept, lost] {
        assert_eq!(SessionStore::find(&storage, &gone.id).await.unwrap(), None);
    }

    // From here on changes are listed again, and wake waiting nodes.
    tokio::time::timeout(TIMEOUT, storage.wait_for_change(known)).await.unwrap();
    elsewhere.create(&other, CAP, NOTHING_ENDED).await.unwrap();
    tokio::time::timeout(TIMEOUT, storage.wait_for_change(latest)).await.unwrap();
    let Changes::Listed(changes) = storage.since(latest).await.unwrap() else { panic!("a gap") };
    let revisions: Vec<_> = changes.iter().map(|change| change.revision).collect();
    assert_eq!(revisions, [Revision(latest.0 + 1)]);
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
