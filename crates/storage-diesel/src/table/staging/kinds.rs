//! How each kind of record is merged.

use super::{
    guilds,
    merge::{Merge, Op},
    slots,
};
use crate::{
    connection::AnyConnection,
    failure::Failure,
    table::{
        column::from_column,
        feedback, history,
        history::Write,
        history::named,
        members,
        row::Table,
        row::{
            BlockedRow, FeedbackRow, GrantRow, GuildRow, MemberRow, Row, SessionRow, StaffRow,
            SubscriptionGuildRow, SubscriptionRow, TeamRow,
        },
        sessions,
    },
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::UserId,
    port::{Replace, ShardSlice},
};
use diesel::{
    QueryResult, RunQueryDsl,
    dsl::sql,
    sql_query,
    sql_types::{BigInt, Binary, Nullable, Text},
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
    let keys = merge.select_keys(op, limit);
    let of_users = |db: &mut AnyConnection, subject: fn(UserId) -> Subject| -> QueryResult<Vec<Subject>> {
        let users: Vec<i64> = sql::<BigInt>(&keys).load(db)?;
        Ok(users.iter().map(|user| from_column(user).map_or(Subject::Many(merge.kind), subject)).collect())
    };
    match merge.kind {
        Kind::Guild => {
            let guilds: Vec<i64> = sql::<BigInt>(&keys).load(db)?;
            let subject = |id| from_column(id).map_or(Subject::Many(Kind::Guild), Subject::Guild);
            Ok(guilds.iter().map(subject).collect())
        }
        Kind::Member => {
            let members: Vec<(i64, i64)> = sql::<(BigInt, BigInt)>(&keys).load(db)?;
            Ok(members.into_iter().map(|(guild, user)| members::subject(guild, user)).collect())
        }
        Kind::Subscription => of_users(db, Subject::Subscription),
        Kind::Staff => of_users(db, Subject::Staff),
        Kind::Blocked => of_users(db, Subject::Blocked),
        Kind::Grant => of_users(db, Subject::Grant),
        Kind::Feedback => {
            let ids: Vec<String> = sql::<Text>(&keys).load(db)?;
            Ok(ids.iter().map(|id| feedback::subject(id)).collect())
        }
        Kind::Session => {
            let ids: Vec<Vec<u8>> = sql::<Binary>(&keys).load(db)?;
            Ok(ids.iter().map(|id| sessions::subject(id)).collect())
        }
        Kind::Team => {
            let any: Vec<(i64, String)> = sql::<(BigInt, Text)>(&keys).load(db)?;
            Ok(any.first().map(|_| Subject::Many(Kind::Team)).into_iter().collect())
        }
        Kind::Cluster => Ok(Vec::new()),
    }
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

/// Versions made from now on are higher than those that were brought.
fn raise_grant_offset(db: &mut AnyConnection) -> QueryResult<()> {
    let staged = GrantRow::TABLE.staged;
    let highest = sql::<Nullable<BigInt>>(&format!("SELECT max(version) FROM {staged}"));
    let highest: Option<i64> = highest.get_result(db)?;
    highest.map_or(Ok(()), |version| history::raise_grant_offset(db, version))
}
