//! The channels and roles of a guild, by name.

use super::{ChannelId, Colour, GuildId, Invalid, Label, RoleId};
use std::{collections::BTreeSet, fmt, str::FromStr};

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

/// The kinds of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelKind {
    /// Messages.
    Text,
    /// Speech.
    Voice,
    /// A group of channels.
    Category,
    /// Threads.
    Forum,
    /// Messages that other guilds can follow.
    Announcement,
}

impl ChannelKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Text, Self::Voice, Self::Category, Self::Forum, Self::Announcement];

    /// The name used outside.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Voice => "voice",
            Self::Category => "category",
            Self::Forum => "forum",
            Self::Announcement => "announcement",
        }
    }
}

impl FromStr for ChannelKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or(Invalid::new("kind", "text, voice, category, forum or announcement"))
    }
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
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

    #[test]
    fn channel_kinds_have_names() {
        for kind in ChannelKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("Text".parse::<ChannelKind>().is_err());
    }
}
