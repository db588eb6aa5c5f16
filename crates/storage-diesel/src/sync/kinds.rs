//! How each kind of record is merged.

use super::{
    key::{Bytes, Number, TwoNumbers, Word},
    merge::{Fate, Merge},
    slots,
    staging::{
        BLOCKED, FEEDBACK, GRANTS, GUILDS, MEMBERS, SESSIONS, STAFF, SUBSCRIPTIONS, TEAM, staged_grants,
    },
};
use crate::{
    change::named,
    connection::AnyConnection,
    failure::{Failure, RowError},
    row::{makes_no_sense, session::id_from_bytes, snowflake::from_column},
    schema::history,
    store::bot_telemetry,
    writer::Write,
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    port::{Replace, ShardSlice},
};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, dsl::max, sql_query};

/// How a kind is merged; nothing for what no record brings.
pub(super) fn merge_of(kind: Kind, replace: &Replace) -> Option<Merge> {
    let (table, staged) = match kind {
        Kind::Guild => ("guilds", &GUILDS),
        Kind::Member => ("members", &MEMBERS),
        Kind::Subscription => ("subscriptions", &SUBSCRIPTIONS),
        Kind::Staff => ("staff", &STAFF),
        Kind::Blocked => ("blocked", &BLOCKED),
        Kind::Feedback => ("feedback", &FEEDBACK),
        Kind::Team => ("team", &TEAM),
        Kind::Session => ("sessions", &SESSIONS),
        Kind::Grant => ("grants", &GRANTS),
        Kind::Cluster => return None,
    };
    Some(Merge {
        kind,
        table,
        staged,
        also_set: if kind == Kind::Grant { ", claim_until = NULL" } else { "" },
        covered: covered(kind, replace),
        except: (kind == Kind::Member && replace.kinds.contains(&Kind::Guild)).then(of_a_guild_that_goes),
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

/// Members go with their guild, and nothing comes of those that were staged for a guild that this very sync takes away.
fn of_a_guild_that_goes() -> String {
    let (differing, gone) = (GUILDS.differing(), Fate::Gone.number());
    format!("EXISTS (SELECT 1 FROM {differing} AS g WHERE g.id = {{}}.guild AND g.fate = {gone})")
}

/// Writes what differs, and notes what happens to whom, up to the number that is named.
pub(super) fn write(write: &mut Write<'_>, merge: &Merge) -> Result<Tally, Failure> {
    let slots = before(write, merge)?;
    let mut tally = Tally::NOTHING;
    for fate in Fate::ALL {
        // One more than is named is enough to know that it is too many.
        let subjects = subjects(write.db, merge, fate, named(merge.kind) + 1)?;
        if !subjects.is_empty() {
            for subject in subjects {
                write.note(subject);
            }
            tally += merge.write(write.db, fate)?;
        }
    }
    after(write, merge, slots)?;
    Ok(tally)
}

/// What some rows are about that differ in this way. A key that makes no sense may be anyone's.
fn subjects(
    db: &mut AnyConnection,
    merge: &Merge,
    fate: Fate,
    limit: usize,
) -> Result<Vec<Subject>, Failure> {
    let table = merge.table;
    let of_user =
        |subject: fn(_) -> Subject| move |key: Number| Ok(subject(from_column(key.first, table, "user_id")?));
    match merge.kind {
        Kind::Guild => {
            let guild = |key: Number| Ok(Subject::Guild(from_column(key.first, table, "id")?));
            read(merge, merge.keys(db, fate, limit)?, guild)
        }
        Kind::Member => read(merge, merge.keys(db, fate, limit)?, member),
        Kind::Subscription => read(merge, merge.keys(db, fate, limit)?, of_user(Subject::Subscription)),
        Kind::Staff => read(merge, merge.keys(db, fate, limit)?, of_user(Subject::Staff)),
        Kind::Blocked => read(merge, merge.keys(db, fate, limit)?, of_user(Subject::Blocked)),
        Kind::Grant => read(merge, merge.keys(db, fate, limit)?, of_user(Subject::Grant)),
        Kind::Feedback => {
            let entry = |key: Word| {
                let id = key.first.parse().map_err(makes_no_sense("feedback", "id"))?;
                Ok(Subject::Feedback(id))
            };
            read(merge, merge.keys(db, fate, limit)?, entry)
        }
        Kind::Session => {
            let session = |key: Bytes| Ok(Subject::Session(id_from_bytes(&key.first)?));
            read(merge, merge.keys(db, fate, limit)?, session)
        }
        Kind::Team => Ok(merge.keys::<Number>(db, fate, 1)?.into_iter().map(|_| Subject::Team).collect()),
        Kind::Cluster => Ok(Vec::new()),
    }
}

fn read<K>(
    merge: &Merge,
    keys: Vec<K>,
    subject: impl Fn(K) -> Result<Subject, RowError>,
) -> Result<Vec<Subject>, Failure> {
    Ok(keys.into_iter().map(|key| subject(key).unwrap_or(Subject::Many(merge.kind))).collect())
}

fn member(key: TwoNumbers) -> Result<Subject, RowError> {
    Ok(Subject::Member(
        from_column(key.first, "members", "guild")?,
        from_column(key.second, "members", "user_id")?,
    ))
}

/// What has to be done before the rows are written. Returns how many slots feedback had.
fn before(write: &mut Write<'_>, merge: &Merge) -> Result<i64, Failure> {
    match merge.kind {
        Kind::Guild => members_of_guilds_that_go(write)?,
        Kind::Subscription => {
            let (differing, changed) = (merge.staged.differing(), Fate::Changed.number());
            sql_query(format!(
                "DELETE FROM subscription_guilds WHERE user_id IN
                 (SELECT user_id FROM {differing} WHERE fate = {changed})"
            ))
            .execute(write.db)?;
        }
        Kind::Feedback => return slots::free(write.db),
        _ => {}
    }
    Ok(0)
}

/// What has to be done after the rows were written.
fn after(write: &mut Write<'_>, merge: &Merge, slots: i64) -> Result<(), Failure> {
    match merge.kind {
        Kind::Subscription => {
            let (differing, gone) = (merge.staged.differing(), Fate::Gone.number());
            sql_query(format!(
                "INSERT INTO subscription_guilds (user_id, guild)
                 SELECT s.user_id, s.guild FROM staged_subscription_guilds AS s
                 JOIN {differing} AS d ON d.user_id = s.user_id WHERE d.fate <> {gone}
                 ORDER BY s.user_id, s.guild"
            ))
            .execute(write.db)?;
        }
        Kind::Feedback => slots::fill(write.db, slots)?,
        Kind::Grant => raise_grant_offset(write)?,
        _ => {}
    }
    Ok(())
}

/// Takes the members of guilds that are about to go. They are noted, and not counted.
fn members_of_guilds_that_go(write: &mut Write<'_>) -> Result<(), Failure> {
    let (differing, gone) = (GUILDS.differing(), Fate::Gone.number());
    let theirs = format!("FROM members WHERE guild IN (SELECT id FROM {differing} WHERE fate = {gone})");
    let limit = named(Kind::Member) + 1;
    let going: Vec<TwoNumbers> =
        sql_query(format!("SELECT guild AS first, user_id AS second {theirs} LIMIT {limit}"))
            .load(write.db)?;
    if !going.is_empty() {
        sql_query(format!("DELETE {theirs}")).execute(write.db)?;
    }
    for key in going {
        write.note(member(key)?);
    }
    Ok(())
}

/// Versions made from now on are higher than those that were brought.
fn raise_grant_offset(write: &mut Write<'_>) -> Result<(), Failure> {
    let brought: Option<i64> = staged_grants::table.select(max(staged_grants::version)).first(write.db)?;
    if let Some(brought) = brought {
        let (revision, offset): (i64, i64) =
            history::table.select((history::revision, history::grant_offset)).first(write.db)?;
        diesel::update(history::table)
            .set(history::grant_offset.eq(offset.max(brought.saturating_sub(revision))))
            .execute(write.db)?;
    }
    Ok(())
}

/// No record brings a cluster, so where they are replaced all are left out.
pub(super) fn forget_clusters(write: &mut Write<'_>) -> Result<Tally, Failure> {
    bot_telemetry::forget_all(write)
}
