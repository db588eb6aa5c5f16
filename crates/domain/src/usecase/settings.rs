//! Settings of guilds: publishing the schema, reading, changing, undoing, confirming.

use super::{ListGuilds, ListGuildsError, all::Core};
use crate::{
    change::{Applied, Key, Tally},
    model::{FieldError, GuildId, Profile, UserId},
    port::{ChangeSettingsError, ConfirmSettingsError, SettingsStore, StoreError},
    settings::{
        Authority, Change, Edit, Origin, Problem, Rejected, Rights, Schema, SettingKey, Stored, Value,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

/// How old a sign-in may be whose list cannot be refreshed, because no tokens are stored.
const MAX_SIGN_IN_AGE: Duration = Duration::from_secs(3600);

/// Reads and changes the settings of guilds.
pub struct GuildSettings {
    /// The schema, the settings and their history.
    pub store: Arc<dyn SettingsStore>,
    /// Refreshes the list of a user whose permissions decide.
    pub list_guilds: Arc<ListGuilds>,
    pub(super) core: Arc<Core>,
}

/// Values to set, by key; `None` returns a field to its default.
pub type SentValues = BTreeMap<SettingKey, Option<Value>>;

/// A change that a user asks for.
#[derive(Debug, Clone)]
pub struct UserChange {
    /// The user.
    pub user: UserId,
    /// The guild.
    pub guild: GuildId,
    /// The values to set.
    pub values: SentValues,
    /// The revision that it is based on. Any if absent.
    pub expected: Option<u64>,
    /// Through what.
    pub via: Origin,
}

/// The settings of a guild, and the schema that gives them meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsView {
    /// The schema; empty before one is published.
    pub schema: Arc<Schema>,
    /// What is set.
    pub stored: Stored,
}

/// Why a user's change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeAsUserError {
    /// The user has no list that is new enough.
    #[error(transparent)]
    List(#[from] ListGuildsError),
    /// The list cannot be refreshed, and the sign-in is older than an hour.
    #[error("the sign-in is too old")]
    SignInStale,
    /// The change is not allowed, outdated or wrong.
    #[error(transparent)]
    Rejected(Rejected),
}

impl From<ChangeSettingsError> for ChangeAsUserError {
    fn from(error: ChangeSettingsError) -> Self {
        match error {
            ChangeSettingsError::Rejected(Rejected::ListTooOld) => Self::List(ListGuildsError::not_yet()),
            ChangeSettingsError::Rejected(rejected) => Self::Rejected(rejected),
            ChangeSettingsError::Store(error) => Self::List(error.into()),
        }
    }
}

impl GuildSettings {
    /// Publishes a schema in place of the last one.
    pub async fn publish(&self, schema: &Schema) -> Result<Tally, StoreError> {
        let applied = self.store.publish(schema).await?;
        Ok(self.deliver(applied).await)
    }

    /// Returns the settings of a guild. `None` if the guild does not have the bot.
    pub async fn find(&self, guild: GuildId) -> Result<Option<SettingsView>, StoreError> {
        if !self.is_known(guild).await? {
            return Ok(None);
        }
        let stored = self.store.find(guild).await?;
        self.view(stored).await.map(Some)
    }

    /// Returns the settings of a guild in a user's list, and what the user may do there. `None` if it is not in the list.
    pub async fn find_as_user(
        &self,
        user: UserId,
        guild: GuildId,
    ) -> Result<Option<(SettingsView, Rights)>, ListGuildsError> {
        let listing = self.list_guilds.list(user).await?.listing;
        let Ok(rights) = listing.standing(guild).listed else { return Ok(None) };
        let stored = self.store.find(guild).await?;
        Ok(Some((self.view(stored).await?, rights)))
    }

    /// Changes values for the bot, which may change everything. `None` if the guild does not have the bot.
    pub async fn change(
        &self,
        guild: GuildId,
        values: SentValues,
        by: Option<UserId>,
        expected: Option<u64>,
    ) -> Result<Option<(SettingsView, Tally)>, ChangeSettingsError> {
        if !self.is_known(guild).await? {
            return Ok(None);
        }
        let edit = Edit { at: self.core.now(), by, via: Origin::Bot };
        let (stored, applied) =
            self.store.change(&Change { guild, values, expected, edit, authority: None }).await?;
        let tally = self.deliver(applied).await;
        Ok(Some((self.view(stored).await?, tally)))
    }

    /// Makes a user's change. The permissions are judged by a list that is no older than lists are served for.
    pub async fn change_as_user(&self, change: UserChange) -> Result<Tally, ChangeAsUserError> {
        let UserChange { user, guild, values, expected, via } = change;
        let authority = Some(self.authority(user).await?);
        let edit = Edit { at: self.core.now(), by: Some(user), via };
        let (_, applied) = self.store.change(&Change { guild, values, expected, edit, authority }).await?;
        Ok(self.deliver(applied).await)
    }

    /// Sets the fields of an entry of the history to what they were before it, for a user.
    pub async fn undo(
        &self,
        user: UserId,
        guild: GuildId,
        revision: u64,
    ) -> Result<Tally, ChangeAsUserError> {
        let history = self.store.history(guild).await.map_err(ListGuildsError::from)?;
        let Some(entry) = history.into_iter().find(|entry| entry.revision == revision) else {
            let error = FieldError::new("revision", "is not in the history any more");
            return Err(ChangeAsUserError::Rejected(Rejected::Invalid(vec![error])));
        };
        let values = entry.changes.into_iter().map(|change| (change.key, change.from)).collect();
        self.change_as_user(UserChange { user, guild, values, expected: None, via: Origin::Site }).await
    }

    /// Stores that the bot acts by a revision, except for some problems. `None` if the guild does not have the bot.
    pub async fn confirm(
        &self,
        guild: GuildId,
        revision: u64,
        problems: &[Problem],
    ) -> Result<Option<Tally>, ConfirmSettingsError> {
        if !self.is_known(guild).await? {
            return Ok(None);
        }
        let applied = self.store.confirm(guild, revision, problems).await?;
        Ok(Some(self.deliver(applied).await))
    }

    /// Returns the names of the users who made these changes and are still signed in.
    pub async fn editors(
        &self,
        edits: impl IntoIterator<Item = Edit>,
    ) -> Result<HashMap<UserId, Profile>, StoreError> {
        let users: BTreeSet<_> = edits.into_iter().filter_map(|edit| edit.by).collect();
        if users.is_empty() { Ok(HashMap::new()) } else { self.core.grants().profiles(&users).await }
    }

    /// Removes the settings of a guild and their history.
    pub async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        let applied = self.store.remove(guild).await?;
        Ok(self.deliver(applied).await)
    }

    async fn view(&self, stored: Stored) -> Result<SettingsView, StoreError> {
        Ok(SettingsView { schema: self.store.schema().await?.unwrap_or_default(), stored })
    }

    async fn is_known(&self, guild: GuildId) -> Result<bool, StoreError> {
        Ok(self.core.records.find(&Key::Guild(guild)).await?.is_some())
    }

    async fn deliver(&self, Applied { tally, changes }: Applied) -> Tally {
        self.core.dispatcher.deliver(&changes).await;
        tally
    }

    /// Refreshes the user's list if it is too old to decide by.
    async fn authority(&self, user: UserId) -> Result<Authority, ChangeAsUserError> {
        let now = self.core.now();
        let listing = self.list_guilds.list(user).await?.listing;
        let renewable = listing.grant.as_ref().is_some_and(|grant| grant.renewable);
        let max_age =
            if renewable { self.core.settings.freshness.refresh_after.get() } else { MAX_SIGN_IN_AGE };
        // A list that was fetched meanwhile counts, however short the maximum is.
        let is_new = listing.list().is_some_and(|list| now.age_of(list.fetched_at) <= max_age);
        match (is_new, renewable) {
            (true, _) => Ok(Authority { user, list_since: now.before(max_age) }),
            (false, true) => Err(ListGuildsError::not_yet().into()),
            (false, false) => Err(ChangeAsUserError::SignInStale),
        }
    }
}
