//! What becomes of a guild's settings when a user or the bot changes them.

use super::{PartKey, Schema, Section, SettingKey, Value, Values};
use crate::{
    model::{Description, FieldError, GuildId, Timestamp, UserId},
    named::named,
    policy::PermissionSet,
    rules::NotListed,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The settings of one guild, as they are stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stored {
    /// Raised by one with each change; 0 if none was ever made.
    pub revision: u64,
    /// What was set. A value that the schema no longer accepts stays, and is ignored.
    pub values: Values,
    /// When, by whom and through what it was changed last.
    pub changed: Option<Edit>,
    /// The revision that the bot acts by, once it has confirmed one.
    pub applied: Option<u64>,
    /// Why the bot does not act by some of the values of that revision.
    pub problems: Vec<Problem>,
}

/// When, by whom and through what settings were changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    /// When.
    pub at: Timestamp,
    /// The user. `None` if the bot named none, or the user was forgotten.
    pub by: Option<UserId>,
    /// Through what.
    pub via: Origin,
}

named! {
    /// Through what settings were changed.
    Origin {
        /// The dashboard.
        Site = "site",
        /// The public API.
        Api = "api",
        /// The management API.
        Bot = "bot",
    }
    parsed as "via": "site, api or bot"
}

/// An entry of the history of a guild's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The guild.
    pub guild: GuildId,
    /// The revision that the change made.
    pub revision: u64,
    /// When, by whom and through what.
    pub edit: Edit,
    /// What was different.
    pub changes: Vec<ChangedField>,
}

impl HistoryEntry {
    /// How many entries a guild keeps. Older ones are removed by the write that exceeds it.
    pub const KEPT: usize = 50;
}

/// A value that the bot cannot act by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The field.
    pub key: SettingKey,
    /// Why, as people read it.
    pub message: Description,
}

/// One field that a change made different. `None` is unset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangedField {
    /// The field.
    pub key: SettingKey,
    /// What was set before.
    pub from: Option<Value>,
    /// What is set now.
    pub to: Option<Value>,
}

/// A change of some values of a guild.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The guild.
    pub guild: GuildId,
    /// The values to set; `None` returns a field to its default.
    pub values: BTreeMap<SettingKey, Option<Value>>,
    /// The revision that it was based on. Any if absent.
    pub expected: Option<u64>,
    /// When, by whom and through what.
    pub edit: Edit,
    /// Whose permissions decide. `None` for the bot, which may change everything.
    pub authority: Option<Authority>,
}

/// A user whose permissions decide about a change, by facts of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority {
    /// The user.
    pub user: UserId,
    /// The platform's list must have been read at this time or later.
    pub list_since: Timestamp,
}

/// What the store says of a user in a guild.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserStanding {
    /// When the platform's list of the user was read. `None` without one.
    pub list_fetched_at: Option<Timestamp>,
    /// What the user may do there, or why the guild is not in their list.
    pub listed: Result<Rights, Vec<NotListed>>,
}

/// What counts for settings about a user in a guild of their list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// What the user may do.
    pub permissions: PermissionSet,
    /// Whether the guild is premium.
    pub premium: bool,
}

/// What a change makes of the stored settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// What to store.
    pub stored: Stored,
    /// What is different, for the history. Empty if the change changes nothing: then nothing is stored either.
    pub changes: Vec<ChangedField>,
}

/// Why a change is rejected. Nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The guild is not in the user's list, for these reasons.
    #[error("the guild is not in the user's list")]
    NotListed(Vec<NotListed>),
    /// The platform's list was read too long ago.
    #[error("the platform's list is too old")]
    ListTooOld,
    /// The user may not edit these sections, by their keys.
    #[error("the user may not edit a section")]
    NotEditable(Vec<PartKey>),
    /// The settings have this revision, not the expected one.
    #[error("the settings were changed meanwhile")]
    Outdated(u64),
    /// These values are wrong.
    #[error("a value is wrong")]
    Invalid(Vec<FieldError>),
}

/// What a user may do with a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Change its values.
    Edit,
    /// See its values.
    View,
    /// Neither; its title alone is shown.
    None,
}

impl Section {
    /// What a user with these rights may do.
    #[must_use]
    pub const fn access(&self, rights: Rights) -> Access {
        match (rights.permissions.contains(self.permission) && (rights.premium || !self.plus), self.visible) {
            (true, _) => Access::Edit,
            (false, true) => Access::View,
            (false, false) => Access::None,
        }
    }
}

impl Change {
    /// Decides about the change, by what the store holds: the schema, the guild's settings, and what it says of the user of
    /// the [`Authority`], if there is one.
    ///
    /// # Errors
    /// The first reason of those in the order of [`Rejected`].
    pub fn decide(
        &self,
        schema: &Schema,
        stored: Stored,
        standing: Option<UserStanding>,
    ) -> Result<Decided, Rejected> {
        if let Some(authority) = self.authority {
            let standing = standing.ok_or_else(|| Rejected::NotListed(Vec::new()))?;
            self.authorize(authority, schema, standing)?;
        }
        if self.expected.is_some_and(|expected| expected != stored.revision) {
            return Err(Rejected::Outdated(stored.revision));
        }
        self.check(schema)?;
        let mut after = stored;
        let mut changes = Vec::new();
        for (key, value) in &self.values {
            let from = match value {
                Some(value) => after.values.insert(key.clone(), value.clone()),
                None => after.values.remove(key),
            };
            if from != *value {
                changes.push(ChangedField { key: key.clone(), from, to: value.clone() });
            }
        }
        if after.size() > Stored::MAX_SIZE {
            let message = "must be at most 64 KiB together with what is set already";
            return Err(Rejected::Invalid(vec![FieldError::new("values", message)]));
        }
        if !changes.is_empty() {
            after.revision += 1;
            after.changed = Some(self.edit);
        }
        Ok(Decided { stored: after, changes })
    }

    fn authorize(
        &self,
        authority: Authority,
        schema: &Schema,
        standing: UserStanding,
    ) -> Result<(), Rejected> {
        let rights = standing.listed.map_err(Rejected::NotListed)?;
        if standing.list_fetched_at.is_none_or(|fetched_at| fetched_at < authority.list_since) {
            return Err(Rejected::ListTooOld);
        }
        let sections = self.values.keys().filter_map(|key| schema.find(key)).map(|(section, _)| section);
        let refused = sections.filter(|section| section.access(rights) != Access::Edit);
        let mut refused: Vec<_> = refused.map(|section| section.key.clone()).collect();
        refused.dedup();
        if refused.is_empty() { Ok(()) } else { Err(Rejected::NotEditable(refused)) }
    }

    fn check(&self, schema: &Schema) -> Result<(), Rejected> {
        let error = |(key, value): (&SettingKey, &Option<Value>)| {
            let Some((_, field)) = schema.find(key) else {
                return Some(FieldError::new(
                    format!("values.{key}"),
                    "is not a field of the published schema",
                ));
            };
            let checked = value.as_ref().map_or(Ok(()), |value| field.check(value));
            checked.map_err(|error| FieldError { path: format!("values.{key}{}", error.path), ..error }).err()
        };
        let errors: Vec<_> = self.values.iter().filter_map(error).take(FieldError::MAX_REPORTED).collect();
        if errors.is_empty() { Ok(()) } else { Err(Rejected::Invalid(errors)) }
    }
}

impl Stored {
    /// The largest size of the values of a guild, in bytes as [`Value::size`] counts them.
    pub const MAX_SIZE: usize = 64 * 1024;

    fn size(&self) -> usize {
        self.values.iter().map(|(key, value)| key.as_str().len() + 4 + value.size()).sum()
    }

    /// Returns whether the bot has confirmed the current revision.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        self.applied == Some(self.revision)
    }

    /// Notes that the bot acts by a revision, but for some problems. Returns whether anything is different.
    ///
    /// # Errors
    /// The current revision, if it is lower.
    pub fn confirm(&mut self, revision: u64, problems: Vec<Problem>) -> Result<bool, u64> {
        if revision > self.revision {
            return Err(self.revision);
        }
        let is_lower = self.applied.is_some_and(|applied| applied > revision);
        if is_lower || (self.applied == Some(revision) && self.problems == problems) {
            return Ok(false);
        }
        (self.applied, self.problems) = (Some(revision), problems);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::Permission,
        settings::{Field, FieldType},
    };

    const NOW: Timestamp = Timestamp::from_micros(1_000);

    fn key(text: &str) -> SettingKey {
        text.parse().unwrap()
    }

    /// Two sections: `all` for managers, `plus` for managers of premium guilds, each with two texts.
    fn schema() -> Schema {
        let field = |name: &str| Field {
            key: name.parse().unwrap(),
            title: name.parse().unwrap(),
            description: None,
            field_type: FieldType::Text { min_length: 0, max_length: 4_000, multiline: false },
            many: None,
            default: None,
        };
        let section = |name: &str, plus| Section {
            key: name.parse().unwrap(),
            title: name.parse().unwrap(),
            description: None,
            permission: Permission::ManageServer,
            plus,
            visible: plus,
            fields: vec![field("one"), field("two")],
        };
        Schema::new(vec![section("all", false), section("plus", true)]).unwrap()
    }

    fn change(values: &[(&str, Option<&str>)]) -> Change {
        let entry =
            |(name, text): &(&str, Option<&str>)| (key(name), text.map(|text| Value::Text(text.into())));
        Change {
            guild: GuildId::new(1).unwrap(),
            values: values.iter().map(entry).collect(),
            expected: None,
            edit: Edit { at: NOW, by: UserId::new(5).ok(), via: Origin::Site },
            authority: None,
        }
    }

    fn by_bot(change: &Change, stored: Stored) -> Result<Decided, Rejected> {
        change.decide(&schema(), stored, None)
    }

    fn by_user(
        change: Change,
        fetched_at: i64,
        listed: Result<Rights, Vec<NotListed>>,
    ) -> Result<Decided, Rejected> {
        let user = UserId::new(5).unwrap();
        let change = Change { authority: Some(Authority { user, list_since: NOW }), ..change };
        let list_fetched_at = Some(Timestamp::from_micros(fetched_at));
        change.decide(&schema(), Stored::default(), Some(UserStanding { list_fetched_at, listed }))
    }

    fn rights(manages: bool, premium: bool) -> Rights {
        let mut permissions = PermissionSet::EMPTY;
        if manages {
            permissions.insert(Permission::ManageServer);
        }
        Rights { permissions, premium }
    }

    #[test]
    fn every_wrong_value_is_named() {
        let wrong = change(&[("all.one", Some("a\nb")), ("all.three", Some("a")), ("all.two", Some("ok"))]);
        let Err(Rejected::Invalid(errors)) = by_bot(&wrong, Stored::default()) else { panic!("it is wrong") };
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["values.all.one", "values.all.three"]);
    }

    #[test]
    fn values_that_the_schema_does_not_know_stay() {
        let mut stored = Stored::default();
        stored.values.insert(key("old.field"), Value::Boolean(true));
        let decided = by_bot(&change(&[("all.one", Some("a"))]), stored).unwrap();
        assert_eq!(decided.stored.values.get(&key("old.field")), Some(&Value::Boolean(true)));
    }

    #[test]
    fn a_guild_stores_64_kib_at_most() {
        let mut stored = Stored::default();
        for number in 0..16 {
            stored.values.insert(key(&format!("old.f{number}")), Value::Text("x".repeat(4_000).into()));
        }
        let more = change(&[("all.one", Some(&"x".repeat(2_000)))]);
        let Err(Rejected::Invalid(errors)) = by_bot(&more, stored) else { panic!("it is too large") };
        assert_eq!(errors[0].path, "values");
    }

    #[test]
    fn users_edit_what_their_permissions_allow() {
        let (all, plus) = (change(&[("all.one", Some("a"))]), change(&[("plus.one", Some("a"))]));
        let refused = |name: &str| Err(Rejected::NotEditable(vec![name.parse().unwrap()]));
        let micros = NOW.micros();
        for (change, listed, allowed) in [
            (&all, rights(true, false), Ok(1)),
            (&all, rights(false, true), refused("all")),
            (&plus, rights(true, true), Ok(1)),
            (&plus, rights(true, false), refused("plus")),
        ] {
            let decided = by_user(change.clone(), micros, Ok(listed));
            assert_eq!(decided.map(|decided| decided.stored.revision), allowed);
        }
        let both = change(&[("all.one", Some("a")), ("plus.one", Some("a"))]);
        assert_eq!(by_user(both, micros, Ok(rights(true, false))).map(|_| 0), refused("plus"));
        let old = by_user(all.clone(), micros - 1, Ok(rights(true, true)));
        assert_eq!(old, Err(Rejected::ListTooOld));
        let not_listed = by_user(all, micros, Err(vec![NotListed::Blocked]));
        assert_eq!(not_listed, Err(Rejected::NotListed(vec![NotListed::Blocked])));
    }

    #[test]
    fn a_user_of_whom_the_store_says_nothing_may_change_nothing() {
        let authority = Some(Authority { user: UserId::new(5).unwrap(), list_since: NOW });
        let change = Change { authority, ..change(&[("all.one", Some("a"))]) };
        let decided = change.decide(&schema(), Stored::default(), None);
        assert_eq!(decided, Err(Rejected::NotListed(Vec::new())));
    }
}
