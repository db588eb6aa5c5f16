//! Reads all records page by page, ordered by kind and key.

use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::{
        blocked, feedback, grants, guilds, members, outlines, sessions, settings, settings_edits, staff,
        subscriptions,
    },
    table::{
        self,
        column::ID_RANGES,
        row::{
            BlockedRow, FeedbackRow, GrantRow, GuildRow, MemberRow, OutlineRow, Row, SessionRow,
            SettingsEditRow, SettingsRow, StaffRow, SubscriptionRow,
        },
        team,
        unreadable::Unreadable,
    },
};
use companion_domain::port::Record;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper,
};
use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};
use tokio::sync::mpsc;

pub(super) fn everything(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    let unreadable = guilds_with_members(db, sender)?;
    all_outlines(db, sender, &unreadable)?;
    people(db, sender)?;
    all_feedback(db, sender)?;
    whole_team(db, sender)?;
    all_settings(db, sender)?;
    status_history(db, sender)?;
    all_sessions(db, sender)?;
    all_grants(db, sender)
}

/// Sends a table whose key is a platform id, page by page.
macro_rules! by_id {
    ($db:ident, $sender:ident, $table:ident::$key:ident, $row:ty, |$page:ident| $send:expr) => {
        for (mut from, to) in ID_RANGES {
            loop {
                let $page: Vec<$row> = $table::table
                    .filter($table::$key.between(from, to))
                    .order($table::$key)
                    .limit(PAGE_RECORDS)
                    .select(<$row>::as_select())
                    .load($db)?;
                let last = $page.last().map(|row| row.$key);
                $send;
                match last.and_then(|last| last.checked_add(1)).filter(|next| *next <= to) {
                    Some(next) => from = next,
                    None => break,
                }
            }
        }
    };
}

/// Sends a table whose key is text or bytes, page by page.
macro_rules! by_key {
    ($db:ident, $sender:ident, $table:ident::$key:ident, $first:expr, $row:ty, $record:expr) => {
        let mut after = $first;
        loop {
            let page: Vec<$row> = $table::table
                .filter($table::$key.gt(&after))
                .order($table::$key)
                .limit(PAGE_RECORDS)
                .select(<$row>::as_select())
                .load($db)?;
            match page.last() {
                Some(last) => after = last.$key.clone(),
                None => break,
            }
            $sender.send(records($sender, page, $record))?;
        }
    };
}

fn records<R, T>(sender: &PageSender, page: Vec<R>, record: impl Fn(T) -> Record) -> Vec<Record>
where
    R: Row,
    T: TryFrom<R, Error = RowError>,
{
    sender.unreadable.all(page).into_iter().map(record).collect()
}

/// Sends each guild before its members. Members of an unreadable guild are skipped too, because they would arrive
/// without their guild. Returns the unreadable guilds.
fn guilds_with_members(db: &mut AnyConnection, sender: &PageSender) -> Result<HashSet<i64>, ExportError> {
    let mut unreadable = HashSet::new();
    by_id!(db, sender, guilds::id, GuildRow, |page| {
        let mut members = Members::of(&page);
        let mut batch = Vec::new();
        for row in page {
            let id = row.id;
            let guild = sender.unreadable.one(row).map(Record::Guild);
            let known = guild.is_some();
            if !known {
                unreadable.insert(id);
            }
            batch.extend(guild);
            while let Some(member) = members.next_in(db, id)? {
                if known {
                    batch.extend(sender.unreadable.one(member).map(Record::Member));
                } else {
                    sender.unreadable.count("members");
                }
                if batch.len() as i64 >= PAGE_RECORDS {
                    sender.send(std::mem::take(&mut batch))?;
                }
            }
        }
        sender.send(batch)?;
    });
    Ok(unreadable)
}

/// The members of a page of guilds, in the order of the guilds.
struct Members {
    queue: VecDeque<MemberRow>,
    /// The guild and user to continue after. The user is `None` if all members of the guild have been read.
    after: Option<(i64, Option<i64>)>,
    /// The last guild of the page.
    to: i64,
}

impl Members {
    fn of(guilds: &[GuildRow]) -> Self {
        let before_first = guilds.first().and_then(|first| first.id.checked_sub(1));
        Self {
            queue: VecDeque::new(),
            // No id precedes `i64::MIN`, so reading starts with the first guild's own members.
            after: match (before_first, guilds.first()) {
                (Some(before), _) => Some((before, None)),
                (None, Some(first)) => Some((first.id, Some(i64::MIN))),
                (None, None) => None,
            },
            to: guilds.last().map_or(0, |last| last.id),
        }
    }

    /// Returns the next member if it belongs to this guild.
    fn next_in(&mut self, db: &mut AnyConnection, guild: i64) -> QueryResult<Option<MemberRow>> {
        while self.queue.is_empty()
            && let Some(after) = self.after
        {
            self.read_after(db, after)?;
        }
        if self.queue.front().is_some_and(|next| next.guild == guild) {
            return Ok(self.queue.pop_front());
        }
        Ok(None)
    }

    fn read_after(&mut self, db: &mut AnyConnection, after: (i64, Option<i64>)) -> QueryResult<()> {
        let page: Vec<MemberRow> = match after {
            (guild, Some(user)) => members::table
                .filter(members::guild.eq(guild))
                .filter(members::user_id.gt(user))
                .order(members::user_id)
                .limit(PAGE_RECORDS)
                .select(MemberRow::as_select())
                .load(db)?,
            (guild, None) => members::table
                .filter(members::guild.gt(guild))
                .filter(members::guild.le(self.to))
                .order((members::guild, members::user_id))
                .limit(PAGE_RECORDS)
                .select(MemberRow::as_select())
                .load(db)?,
        };
        self.after = match (page.last(), after) {
            (Some(last), _) => Some((last.guild, Some(last.user_id))),
            // The guild has no more members; later guilds may.
            (None, (guild, Some(_))) => Some((guild, None)),
            (None, (_, None)) => None,
        };
        self.queue.extend(page);
        Ok(())
    }
}

/// Sends the outlines of all guilds but these, which are unreadable.
fn all_outlines(
    db: &mut AnyConnection,
    sender: &PageSender,
    unreadable: &HashSet<i64>,
) -> Result<(), ExportError> {
    by_id!(db, sender, outlines::guild, OutlineRow, |page| {
        let page = page.into_iter().filter(|row| !unreadable.contains(&row.guild)).collect();
        sender.send(records(sender, page, Record::Outline))?;
    });
    Ok(())
}

/// Sends the schema, then all settings, then their history.
fn all_settings(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    let schema = table::settings::schema(db, &sender.unreadable)?;
    sender.send(schema.into_iter().map(Record::Schema).collect())?;
    by_id!(db, sender, settings::guild, SettingsRow, |page| {
        sender.send(records(sender, page, |(guild, stored)| Record::Settings(guild, stored)))?;
    });
    for (from, to) in ID_RANGES {
        let mut after = (from, -1);
        loop {
            let page: Vec<SettingsEditRow> = settings_edits::table
                .filter(settings_edits::guild.between(after.0, to))
                .filter(settings_edits::guild.gt(after.0).or(settings_edits::revision.gt(after.1)))
                .order((settings_edits::guild, settings_edits::revision))
                .limit(PAGE_RECORDS)
                .select(SettingsEditRow::as_select())
                .load(db)?;
            let Some(last) = page.last() else { break };
            after = (last.guild, last.revision);
            sender.send(records(sender, page, Record::SettingsEdit))?;
        }
    }
    Ok(())
}

/// Sends notices and the bot's history. Both are small.
fn status_history(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    let notices = table::status_history::all_notices(db, &sender.unreadable)?;
    sender.send(notices.into_iter().map(Record::Notice).collect())?;
    let periods = table::status_history::all_periods(db, &sender.unreadable)?;
    sender.send(periods.into_iter().map(Record::Period).collect())
}

fn people(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    by_id!(db, sender, subscriptions::user_id, SubscriptionRow, |page| {
        sender.send(records(sender, page, Record::Subscription))?;
    });
    by_id!(db, sender, staff::user_id, StaffRow, |page| {
        sender.send(records(sender, page, |(user, grants)| Record::Staff(user, grants)))?;
    });
    by_id!(db, sender, blocked::user_id, BlockedRow, |page| {
        sender.send(records(sender, page, Record::Blocked))?;
    });
    Ok(())
}

fn all_feedback(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    by_key!(db, sender, feedback::id, String::new(), FeedbackRow, Record::Feedback);
    Ok(())
}

fn whole_team(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    sender.send(team::all(db, &sender.unreadable)?.into_iter().map(Record::Team).collect())
}

fn all_sessions(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    by_key!(db, sender, sessions::id, Vec::<u8>::new(), SessionRow, Record::Session);
    Ok(())
}

fn all_grants(db: &mut AnyConnection, sender: &PageSender) -> Result<(), ExportError> {
    by_id!(db, sender, grants::user_id, GrantRow, |page| {
        let read = |row: GrantRow| {
            let key = row.key();
            sender.unreadable.accept(&key, row.read(&sender.unreadable))
        };
        sender.send(
            page.into_iter().filter_map(read).map(|(user, grant)| Record::Grant(user, grant)).collect(),
        )?;
    });
    Ok(())
}

/// Number of records read and sent at once.
pub(super) const PAGE_RECORDS: i64 = 500;

/// Why an export ended early.
pub(super) enum ExportError {
    /// The receiver was dropped.
    Abandoned,
    Failed(WorkError),
}

impl<E: Into<WorkError>> From<E> for ExportError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Sends pages to the sink, and counts unreadable rows.
pub(super) struct PageSender {
    pub(super) pages: mpsc::Sender<Vec<Record>>,
    pub(super) unreadable: Arc<Unreadable>,
}

impl PageSender {
    pub(super) fn send(&self, records: Vec<Record>) -> Result<(), ExportError> {
        if records.is_empty() {
            return Ok(());
        }
        self.pages.blocking_send(records).map_err(|_| ExportError::Abandoned)
    }
}
