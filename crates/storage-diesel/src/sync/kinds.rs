//! How each kind of record is merged.

use super::{
    key::{Bytes, Number, TwoNumbers, Word},
    merge::{Fate, Merge},
    slots, staging,
};
use crate::{
    change::named,
    connection::MultiBackend,
    error::Failure,
    row::{makes_no_sense, session::id_from_bytes, snowflake::from_column},
    schema::history,
    writer::Write,
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    port::{Replace, ShardSlice},
};
use diesel::{
    ExpressionMethods, QueryDsl, QueryableByName, RunQueryDsl,
    deserialize::FromSqlRow,
    dsl::max,
    sql_query,
    sql_types::{BigInt, Untyped},
};

/// Merges, and notes what happens to whom, up to the number that is named.
fn merge_noting<K>(
    write: &mut Write<'_>,
    sync: i64,
    kind: Kind,
    merge: &Merge,
    subject: impl Fn(K) -> Result<Subject, Failure>,
) -> Result<Tally, Failure>
where
    K: QueryableByName<MultiBackend> + FromSqlRow<Untyped, MultiBackend> + 'static,
{
    let mut tally = Tally::NOTHING;
    for fate in [Fate::Gone, Fate::Changed, Fate::Added] {
        // One more than is named is enough to know that it is too many.
        let keys: Vec<K> = merge.keys(write.db, sync, fate, named(kind) + 1)?;
        if !keys.is_empty() {
            for key in keys {
                write.note(subject(key)?);
            }
            tally += merge.make(write.db, sync, fate)?;
        }
    }
    Ok(tally)
}

/// Rows of these kinds disappear when they are left out.
fn covered(replace: &Replace, kind: Kind) -> Option<String> {
    replace.kinds.contains(&kind).then(|| "TRUE".to_owned())
}

/// The same within what one shard of the bot sees. The shift keeps the sign, so the bits that it fills are masked.
fn covered_in_shard(replace: &Replace, kind: Kind, column: &str) -> Option<String> {
    let in_slice = |slice: ShardSlice| {
        format!("((t.{column} >> 22) & 4398046511103) % {} = {}", slice.count(), slice.index())
    };
    covered(replace, kind).map(|all| replace.shard.map_or(all, in_slice))
}

pub(super) fn guilds(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "guilds",
        staged: "staged_guilds",
        keys: &["id"],
        values: &["name", "icon", "members", "owner", "setup", "linked", "bindings"],
        also_set: "",
        covered: covered_in_shard(replace, Kind::Guild, "id"),
    };
    if let Some(rows) = merge.rows(Fate::Gone) {
        members_of(write, sync, &rows)?;
    }
    let subject = |key: Number| Ok(Subject::Guild(from_column(key.first, "guilds", "id")?));
    let tally = merge_noting(write, sync, Kind::Guild, &merge, subject)?;
    if tally.removed > 0 {
        // Nothing comes of the members of a guild that this very sync took away.
        sql_query(
            "DELETE FROM staged_members AS s WHERE s.sync = $1
             AND NOT EXISTS (SELECT 1 FROM guilds AS t WHERE t.id = s.guild)",
        )
        .bind::<BigInt, _>(sync)
        .execute(write.db)?;
    }
    Ok(tally)
}

/// Takes the members of guilds that are about to go. They are noted, and not counted.
fn members_of(write: &mut Write<'_>, sync: i64, guilds: &str) -> Result<(), Failure> {
    let limit = named(Kind::Member) + 1;
    let theirs = format!("FROM members AS m WHERE m.guild IN (SELECT t.id FROM {guilds})");
    let going: Vec<TwoNumbers> =
        sql_query(format!("SELECT m.guild AS first, m.user_id AS second {theirs} LIMIT {limit}"))
            .bind::<BigInt, _>(sync)
            .load(write.db)?;
    if !going.is_empty() {
        sql_query(format!("DELETE {theirs}")).bind::<BigInt, _>(sync).execute(write.db)?;
    }
    for member in going {
        write.note(member_subject(member)?);
    }
    Ok(())
}

fn member_subject(key: TwoNumbers) -> Result<Subject, Failure> {
    Ok(Subject::Member(
        from_column(key.first, "members", "guild")?,
        from_column(key.second, "members", "user_id")?,
    ))
}

pub(super) fn members(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "members",
        staged: "staged_members",
        keys: &["guild", "user_id"],
        values: &["roles"],
        also_set: "",
        covered: covered_in_shard(replace, Kind::Member, "guild"),
    };
    merge_noting(write, sync, Kind::Member, &merge, member_subject)
}

pub(super) fn subscriptions(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "subscriptions",
        staged: "staged_subscriptions",
        keys: &["user_id"],
        values: &["slots", "guilds"],
        also_set: "",
        covered: covered(replace, Kind::Subscription),
    };
    let subject = |key: Number| {
        let user = from_column(key.first, "subscriptions", "user_id")?;
        Ok(Subject::Subscription(user))
    };
    let tally = merge_noting(write, sync, Kind::Subscription, &merge, subject)?;
    // Of a subscription that was staged, the guilds that it names are those that were staged.
    let named_guilds = Merge {
        table: "subscription_guilds",
        staged: "staged_subscription_guilds",
        keys: &["user_id", "guild"],
        values: &[],
        also_set: "",
        covered: Some(
            "EXISTS (SELECT 1 FROM staged_subscriptions AS o WHERE o.sync = $1 AND o.user_id = t.user_id)"
                .to_owned(),
        ),
    };
    named_guilds.make_all(write.db, sync)?;
    Ok(tally)
}

pub(super) fn staff(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "staff",
        staged: "staged_staff",
        keys: &["user_id"],
        values: &["grants"],
        also_set: "",
        covered: covered(replace, Kind::Staff),
    };
    let subject = |key: Number| Ok(Subject::Staff(from_column(key.first, "staff", "user_id")?));
    merge_noting(write, sync, Kind::Staff, &merge, subject)
}

pub(super) fn blocked(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "blocked",
        staged: "staged_blocked",
        keys: &["user_id"],
        values: &[],
        also_set: "",
        covered: covered(replace, Kind::Blocked),
    };
    let subject = |key: Number| Ok(Subject::Blocked(from_column(key.first, "blocked", "user_id")?));
    merge_noting(write, sync, Kind::Blocked, &merge, subject)
}

pub(super) fn feedback(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "feedback",
        staged: "staged_feedback",
        keys: &["id"],
        values: &[
            "message",
            "rating",
            "submitted_at",
            "submitter_id",
            "submitter_username",
            "submitter_name",
            "submitter_avatar",
        ],
        also_set: "",
        covered: covered(replace, Kind::Feedback),
    };
    let subject = |key: Word| {
        let id = key.first.parse().map_err(makes_no_sense("feedback", "id"))?;
        Ok(Subject::Feedback(id))
    };
    let before = slots::free(write.db, sync, merge.rows(Fate::Gone).as_deref())?;
    let tally = merge_noting(write, sync, Kind::Feedback, &merge, subject)?;
    slots::fill(write.db, sync, before)?;
    Ok(tally)
}

pub(super) fn team(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "team",
        staged: "staged_team",
        keys: &["user_id", "category"],
        values: &["username", "name", "avatar", "role", "color", "position"],
        also_set: "",
        covered: covered(replace, Kind::Team),
    };
    let tally = merge.make_all(write.db, sync)?;
    Ok(write.noted(tally, || Subject::Team))
}

pub(super) fn sessions(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "sessions",
        staged: "staged_sessions",
        keys: &["id"],
        values: &["user_id", "created_at", "last_seen_at"],
        also_set: "",
        covered: covered(replace, Kind::Session),
    };
    let subject = |key: Bytes| Ok(Subject::Session(id_from_bytes(&key.first)?));
    merge_noting(write, sync, Kind::Session, &merge, subject)
}

pub(super) fn grants(write: &mut Write<'_>, sync: i64, replace: &Replace) -> Result<Tally, Failure> {
    let merge = Merge {
        table: "grants",
        staged: "staged_grants",
        keys: &["user_id"],
        values: &["version", "tokens", "list", "fetched_at"],
        also_set: ", claim_until = NULL",
        covered: covered(replace, Kind::Grant),
    };
    let subject = |key: Number| Ok(Subject::Grant(from_column(key.first, "grants", "user_id")?));
    let tally = merge_noting(write, sync, Kind::Grant, &merge, subject)?;
    // Versions made from now on are higher than those that were brought.
    let brought: Option<i64> = staging::staged_grants::table
        .filter(staging::staged_grants::sync.eq(sync))
        .select(max(staging::staged_grants::version))
        .first(write.db)?;
    if let Some(brought) = brought {
        let (revision, offset): (i64, i64) =
            history::table.select((history::revision, history::grant_offset)).first(write.db)?;
        diesel::update(history::table)
            .set(history::grant_offset.eq(offset.max(brought.saturating_sub(revision))))
            .execute(write.db)?;
    }
    Ok(tally)
}
