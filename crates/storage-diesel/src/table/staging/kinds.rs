//! How each kind of record is merged.

use super::{
    guilds,
    key::{Bytes, Number, TwoNumbers, Word},
    merge::{Merge, Op},
    slots,
};
use crate::{
    connection::AnyConnection,
    failure::Failure,
    table::{
        column::from_column,
        feedback, history,
        journal::named,
        members,
        row::{
            BlockedRow, FeedbackRow, GrantRow, GuildRow, MemberRow, Row, SessionRow, StaffRow,
            SubscriptionGuildRow, SubscriptionRow, Table, TeamRow,
        },
        sessions,
        write::Write,
    },
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::UserId,
    port::{Replace, ShardSlice},
};
use diesel::{
    QueryResult, QueryableByName, RunQueryDsl, sql_query,
    sql_types::{BigInt, Nullable},
};

/// The table that records of a kind are merged into; nothing for what no record brings.
pub(super) const fn table_of(kind: Kind) -> Option<&'static Table> {
    match kind {
        Kind::Guild => Some(&GuildRow::TABLE),
        Kind::Member => Some(&MemberRow::TABLE),
        Kind::Subscription => Some(&SubscriptionRow::TABLE),
        Kind::Staff => Some(&StaffRow::TABLE),
        Kind::Blocked => Some(&BlockedRow::TABLE),
        Kind::Feedback => Some(&FeedbackRow::TABLE),
        Kind::Team => Some(&TeamRow::TABLE),
        Kind::Session => Some(&SessionRow::TABLE),
        Kind::Grant => Some(&GrantRow::TABLE),
        Kind::Cluster => None,
    }
}

/// How a kind is merged; nothing for what no record brings.
pub(crate) fn merge_of(kind: Kind, replace: &Replace) -> Option<Merge> {
    let of_a_guild_that_goes = kind == Kind::Member && replace.kinds.contains(&Kind::Guild);
    Some(Merge {
        kind,
        table: table_of(kind)?,
        also_set: if kind == Kind::Grant { ", claim_until = NULL" } else { "" },
        covered: covered(kind, replace),
        except: of_a_guild_that_goes.then(guilds::of_a_guild_that_goes),
    })
}

/// Which rows disappear when they are left out. The shift keeps the sign, so the bits that it fills are masked.
fn covered(kind: Kind, replace: &Replace) -> Option<String> {
    let guild = match kind {
        Kind::Guild => Some("id"),
        Kind::Member => Some("guild"),
        _ => None,
    };
    let in_slice = |(column, slice): (&str, ShardSlice)| {
        format!("(({{}}.{column} >> 22) & 4398046511103) % {} = {}", slice.count(), slice.index())
    };
    let covered = guild.zip(replace.shard).map_or_else(|| "TRUE".to_owned(), in_slice);
    replace.kinds.contains(&kind).then_some(covered)
}

/// Writes what differs, and notes what happens to whom, up to the number that is named.
pub(crate) fn write(write: &mut Write<'_>, merge: &Merge) -> Result<Tally, Failure> {
    let slots = before(write, merge)?;
    let mut tally = Tally::NOTHING;
    for op in Op::ALL {
        // One more than is named is enough to know that it is too many.
        let subjects = subjects(write.db, merge, op, named(merge.kind) + 1)?;
        if !subjects.is_empty() {
            for subject in subjects {
                write.note(subject);
            }
            tally += merge.write(write.db, op)?;
        }
    }
    after(write, merge, slots)?;
    Ok(tally)
}

/// What some rows are about with which this has to be done.
fn subjects(db: &mut AnyConnection, merge: &Merge, op: Op, limit: usize) -> QueryResult<Vec<Subject>> {
    let of_user = |subject: fn(UserId) -> Subject| {
        move |key: Number| from_column(&key.first).map_or(Subject::Many(merge.kind), subject)
    };
    let guild = |key: Number| from_column(&key.first).map_or(Subject::Many(Kind::Guild), Subject::Guild);
    Ok(match merge.kind {
        Kind::Guild => merge.keys(db, op, limit)?.into_iter().map(guild).collect(),
        Kind::Member => {
            let member = |key: TwoNumbers| members::subject(key.first, key.second);
            merge.keys(db, op, limit)?.into_iter().map(member).collect()
        }
        Kind::Subscription => {
            merge.keys(db, op, limit)?.into_iter().map(of_user(Subject::Subscription)).collect()
        }
        Kind::Staff => merge.keys(db, op, limit)?.into_iter().map(of_user(Subject::Staff)).collect(),
        Kind::Blocked => merge.keys(db, op, limit)?.into_iter().map(of_user(Subject::Blocked)).collect(),
        Kind::Grant => merge.keys(db, op, limit)?.into_iter().map(of_user(Subject::Grant)).collect(),
        Kind::Feedback => {
            merge.keys(db, op, limit)?.into_iter().map(|key: Word| feedback::subject(&key.first)).collect()
        }
        Kind::Session => {
            merge.keys(db, op, limit)?.into_iter().map(|key: Bytes| sessions::subject(&key.first)).collect()
        }
        Kind::Team => merge.keys::<Number>(db, op, 1)?.into_iter().map(|_| Subject::Team).collect(),
        Kind::Cluster => Vec::new(),
    })
}

/// What has to be done before the rows are written. Returns how many slots feedback had.
fn before(write: &mut Write<'_>, merge: &Merge) -> Result<i64, Failure> {
    match merge.kind {
        Kind::Guild => guilds::remove_members_of_guilds_that_go(write)?,
        Kind::Subscription => {
            let (table, differing) = (SubscriptionGuildRow::TABLE.name, merge.table.differing());
            let update = Op::Update.number();
            sql_query(format!(
                "DELETE FROM {table} WHERE user_id IN (SELECT user_id FROM {differing} WHERE op = {update})"
            ))
            .execute(write.db)?;
        }
        Kind::Feedback => return Ok(slots::free(write.db)?),
        _ => {}
    }
    Ok(0)
}

/// What has to be done after the rows were written.
fn after(write: &mut Write<'_>, merge: &Merge, slots: i64) -> Result<(), Failure> {
    match merge.kind {
        Kind::Subscription => {
            let Table { name: table, staged, .. } = SubscriptionGuildRow::TABLE;
            let (differing, delete) = (merge.table.differing(), Op::Delete.number());
            sql_query(format!(
                "INSERT INTO {table} (user_id, guild) SELECT s.user_id, s.guild FROM {staged} AS s
                 JOIN {differing} AS d ON d.user_id = s.user_id WHERE d.op <> {delete}
                 ORDER BY s.user_id, s.guild"
            ))
            .execute(write.db)?;
        }
        Kind::Feedback => slots::fill(write.db, slots)?,
        Kind::Grant => raise_grant_offset(write.db)?,
        _ => {}
    }
    Ok(())
}

#[derive(QueryableByName)]
struct Highest {
    #[diesel(sql_type = Nullable<BigInt>)]
    version: Option<i64>,
}

/// Versions made from now on are higher than those that were brought.
fn raise_grant_offset(db: &mut AnyConnection) -> QueryResult<()> {
    let staged = GrantRow::TABLE.staged;
    let highest: Highest =
        sql_query(format!("SELECT max(version) AS version FROM {staged}")).get_result(db)?;
    highest.version.map_or(Ok(()), |version| history::raise_grant_offset(db, version))
}
