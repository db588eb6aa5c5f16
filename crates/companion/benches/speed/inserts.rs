//! The smallest programs that make the same rows durable: a loop of prepared inserts on one connection.

use crate::{arguments::Job, machine};
use diesel::{
    Connection, ExpressionMethods as _, PgConnection, RunQueryDsl as _, SqliteConnection,
    connection::SimpleConnection as _,
};
use serde::{Deserialize, Serialize};
use std::{process::Stdio, time::Instant};

diesel::table! {
    bare_sessions (id) {
        id -> Text,
        user_id -> BigInt,
        created_at -> BigInt,
        last_seen_at -> BigInt,
    }
}
diesel::table! {
    bare_grants (user_id) {
        user_id -> BigInt,
        tokens -> Text,
        list -> Text,
    }
}
diesel::table! {
    bare_guilds (id) {
        id -> BigInt,
        name -> Text,
        icon -> Text,
        members -> BigInt,
        owner -> BigInt,
        bindings -> Text,
    }
}
diesel::table! {
    bare_members (guild, user_id) {
        guild -> BigInt,
        user_id -> BigInt,
        roles -> Text,
    }
}

const SCHEMA: &str = "
    DROP TABLE IF EXISTS bare_sessions;
    DROP TABLE IF EXISTS bare_grants;
    DROP TABLE IF EXISTS bare_guilds;
    DROP TABLE IF EXISTS bare_members;
    CREATE TABLE bare_sessions (
        id TEXT PRIMARY KEY, user_id BIGINT NOT NULL, created_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL
    );
    CREATE TABLE bare_grants (user_id BIGINT PRIMARY KEY, tokens TEXT NOT NULL, list TEXT NOT NULL);
    CREATE TABLE bare_guilds (
        id BIGINT PRIMARY KEY, name TEXT NOT NULL, icon TEXT NOT NULL, members BIGINT NOT NULL,
        owner BIGINT NOT NULL, bindings TEXT NOT NULL
    );
    CREATE TABLE bare_members (
        guild BIGINT NOT NULL, user_id BIGINT NOT NULL, roles TEXT NOT NULL, PRIMARY KEY (guild, user_id)
    );
";

/// The rows to insert.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Rows {
    /// A session and a grant per commit.
    SignIns,
    /// Guilds, and nine times as many members, in one commit.
    World,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Inserts {
    url: String,
    rows: Rows,
    count: u64,
}

/// Runs the loop in a separate process on the server core. Returns how many seconds it took.
pub(crate) fn measure(url: &str, rows: Rows, count: u64) -> anyhow::Result<f64> {
    let inserts = Job::Inserts(Inserts { url: url.to_owned(), rows, count });
    let output = inserts.under(machine::server_core())?.stderr(Stdio::inherit()).output()?;
    anyhow::ensure!(output.status.success(), "the bare inserts failed");
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

impl Inserts {
    /// The process itself: prints the seconds.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let count = i64::try_from(self.count)?;
        let seconds = if let Some(file) = self.url.strip_prefix("sqlite:") {
            let mut connection = SqliteConnection::establish(file)?;
            connection.batch_execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
            timed!(connection, self.rows, count)
        } else {
            let mut connection = PgConnection::establish(&self.url)?;
            timed!(connection, self.rows, count)
        };
        println!("{seconds}");
        Ok(())
    }
}

/// Times the loop, for either kind of connection.
macro_rules! timed {
    ($connection:ident, $rows:expr, $count:ident) => {{
        $connection.batch_execute(SCHEMA)?;
        let start = Instant::now();
        match $rows {
            Rows::SignIns => {
                let (tokens, list) = ("t".repeat(200), "g".repeat(200));
                for number in 0..$count {
                    $connection.transaction::<_, diesel::result::Error, _>(|connection| {
                        diesel::insert_into(bare_sessions::table)
                            .values((
                                bare_sessions::id.eq(format!("{number:064x}")),
                                bare_sessions::user_id.eq(number),
                                bare_sessions::created_at.eq(number),
                                bare_sessions::last_seen_at.eq(number),
                            ))
                            .execute(connection)?;
                        diesel::insert_into(bare_grants::table)
                            .values((
                                bare_grants::user_id.eq(number),
                                bare_grants::tokens.eq(&tokens),
                                bare_grants::list.eq(&list),
                            ))
                            .execute(connection)
                    })?;
                }
            }
            Rows::World => $connection.transaction::<_, diesel::result::Error, _>(|connection| {
                for number in 0..$count / 10 {
                    diesel::insert_into(bare_guilds::table)
                        .values((
                            bare_guilds::id.eq(number),
                            bare_guilds::name.eq(format!("Harbour Town {number}")),
                            bare_guilds::icon.eq(format!("https://cdn.example/icons/{number}.png")),
                            bare_guilds::members.eq(100 + number),
                            bare_guilds::owner.eq(number),
                            bare_guilds::bindings.eq("{\"MOD\":[\"1200000000000000000\"]}"),
                        ))
                        .execute(connection)?;
                    for member in 0..9 {
                        diesel::insert_into(bare_members::table)
                            .values((
                                bare_members::guild.eq(number),
                                bare_members::user_id.eq(number * 9 + member),
                                bare_members::roles.eq("1200000000000000000"),
                            ))
                            .execute(connection)?;
                    }
                }
                Ok(())
            })?,
        }
        start.elapsed().as_secs_f64()
    }};
}
use timed;
