//! The channels and roles of a guild, by name.

use super::{ChannelId, Colour, GuildId, Invalid, Label, RoleId};
use crate::named::named;
use std::collections::BTreeSet;

/// What people choose channels and roles from: their names as the bot sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The guild.
    pub guild: GuildId,
    /// Its channels, in the order in which they are shown.
    pub channels: Entries<OutlineChannel>,
    /// Its roles, in the order in which they are shown.
    pub roles: Entries<OutlineRole>,
}

impl Outline {
    /// Returns the role with this id.
    #[must_use]
    pub fn role(&self, id: RoleId) -> Option<&OutlineRole> {
        self.roles.as_slice().iter().find(|role| role.id == id)
    }
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineChannel {
    /// Its id.
    pub id: ChannelId,
    /// Its name.
    pub name: Label,
    /// What it is for.
    pub kind: ChannelKind,
}

/// A role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineRole {
    /// Its id.
    pub id: RoleId,
    /// Its name.
    pub name: Label,
    /// Its colour. `None` if it has none of its own.
    pub colour: Option<Colour>,
}

/// Entries with distinct ids, at most 500.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries<T>(Vec<T>);

/// An entry of an outline.
pub trait OutlineEntry {
    /// Returns its id as a number.
    fn number(&self) -> u64;
}

impl OutlineEntry for OutlineChannel {
    fn number(&self) -> u64 {
        self.id.get()
    }
}

impl OutlineEntry for OutlineRole {
    fn number(&self) -> u64 {
        self.id.get()
    }
}

impl<T: OutlineEntry> Entries<T> {
    /// The most entries.
    pub const MAX: usize = 500;

    /// Creates a list of entries.
    ///
    /// # Errors
    /// If there are too many, or two have the same id.
    pub fn new(entries: Vec<T>) -> Result<Self, Invalid> {
        let ids: BTreeSet<_> = entries.iter().map(OutlineEntry::number).collect();
        if entries.len() <= Self::MAX && ids.len() == entries.len() {
            Ok(Self(entries))
        } else {
            Err(Invalid::new("outline", "a list of at most 500 with distinct ids"))
        }
    }

    /// Returns the entries in order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

named! {
    /// The kinds of channels.
    ChannelKind {
        /// Messages.
        Text = "text",
        /// Speech.
        Voice = "voice",
        /// A group of channels.
        Category = "category",
        /// Threads.
        Forum = "forum",
        /// Messages that other guilds can follow.
        Announcement = "announcement",
    }
    parsed as "kind": "text, voice, category, forum or announcement"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_distinct_and_bounded() {
        let role = |number| OutlineRole {
            id: RoleId::new(number).unwrap(),
            name: "A role".parse().unwrap(),
            colour: None,
        };
        assert_eq!(Entries::new((1..=500).map(role).collect()).unwrap().as_slice().len(), 500);
        assert!(Entries::new((1..=501).map(role).collect()).is_err());
        assert!(Entries::new(vec![role(1), role(1)]).is_err());
    }
}
