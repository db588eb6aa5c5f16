//! The domain value of each row. Rows of [`clusters`](super::clusters) and [`grants`](super::grants) are converted there.

use super::{
    column::Field as _,
    row::{
        BlockedRow, FeedbackRow, GuildRow, MemberRow, NoticeRow, OutlineRow, PeriodRow, Row, SchemaRow,
        SessionRow, SettingsEditRow, SettingsRow, StaffRow, SubscriptionRow, TeamRow, read,
    },
    unreadable::Unreadable,
};
use crate::failure::RowError;
use companion_domain::{
    model::{
        Feedback, Guild, GuildId, Member, Notice, Outline, Period, StaffPermissions, Subscription,
        TeamMember, User, UserId,
    },
    session::Session,
    settings::{Edit, HistoryEntry, Schema, Stored},
};

/// Converts rows to values and back, by the column of each field. After a plus come the fields of a part of the value.
macro_rules! values {
    ($(
        $row:ident = $value:ident { $($field:ident: $column:ident),+ $(,)? }
        $(+ $part:ident: $inner:ident { $($part_field:ident: $part_column:ident),+ $(,)? })?
    )+) => {
        $(impl Row for $row {
            type Value = $value;

            fn of(value: &$value) -> Self {
                Self {
                    $($column: value.$field.column(),)+
                    $($($part_column: value.$part.$part_field.column(),)+)?
                }
            }

            fn read(&self, _: &Unreadable) -> Result<$value, RowError> {
                Ok($value {
                    $($field: read!(self.$column),)+
                    $($part: $inner { $($part_field: read!(self.$part_column),)+ },)?
                })
            }
        })+
    };
}

values! {
    GuildRow = Guild {
        id: id, name: name, icon: icon, members: members, owner: owner,
        setup: setup, linked: linked, bindings: bindings,
    }
    MemberRow = Member { guild: guild, user: user_id, roles: roles }
    OutlineRow = Outline { guild: guild, channels: channels, roles: roles }
    SubscriptionRow = Subscription { user: user_id, slots: slots, guilds: guilds }
    TeamRow = TeamMember { category: category, role: role, color: color, position: position }
        + user: User { id: user_id, username: username, name: name, avatar: avatar }
    FeedbackRow = Feedback { id: id, text: message, rating: rating, submitted_at: submitted_at }
        + submitter: User {
            id: submitter_id, username: submitter_username, name: submitter_name, avatar: submitter_avatar,
        }
    SettingsEditRow = HistoryEntry { guild: guild, revision: revision, changes: content }
        + edit: Edit { at: made_at, by: made_by, via: via }
    NoticeRow = Notice { id: id, kind: kind, title: title, text: body, from: starts_at, until: ends_at }
    PeriodRow = Period {
        subject: subject, began_at: began_at, ended_at: ended_at, reason: reason, alert_due: alert_due,
    }
    SessionRow = Session {
        id: id, user: user_id, created_at: created_at, last_seen_at: last_seen_at, user_agent: user_agent,
    }
}

/// A user is blocked if there is a row.
impl Row for BlockedRow {
    type Value = UserId;

    fn of(user: &UserId) -> Self {
        Self { user_id: user.column() }
    }

    fn read(&self, _: &Unreadable) -> Result<UserId, RowError> {
        Ok(read!(self.user_id))
    }
}

impl Row for StaffRow {
    type Value = (UserId, StaffPermissions);

    fn of((user, grants): &(UserId, StaffPermissions)) -> Self {
        Self { user_id: user.column(), grants: grants.column() }
    }

    fn read(&self, _: &Unreadable) -> Result<(UserId, StaffPermissions), RowError> {
        Ok((read!(self.user_id), read!(self.grants)))
    }
}

impl Row for SchemaRow {
    type Value = Schema;

    fn of(schema: &Schema) -> Self {
        Self { id: ().column(), content: schema.column() }
    }

    fn read(&self, _: &Unreadable) -> Result<Schema, RowError> {
        Ok(read!(self.content))
    }
}

impl Row for SettingsRow {
    type Value = (GuildId, Stored);

    fn of((guild, stored): &(GuildId, Stored)) -> Self {
        Self {
            guild: guild.column(),
            revision: stored.revision.column(),
            content: stored.values.column(),
            changed_at: stored.changed.map(|edit| edit.at.column()),
            changed_by: stored.changed.and_then(|edit| edit.by).column(),
            changed_via: stored.changed.map(|edit| edit.via.column()),
            applied: stored.applied.column(),
            problems: stored.problems.column(),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<(GuildId, Stored), RowError> {
        let (at, by, via) = (read!(self.changed_at), read!(self.changed_by), read!(self.changed_via));
        let stored = Stored {
            revision: read!(self.revision),
            values: read!(self.content),
            changed: Option::zip(at, via).map(|(at, via)| Edit { at, by, via }),
            applied: read!(self.applied),
            problems: read!(self.problems),
        };
        Ok((read!(self.guild), stored))
    }
}
