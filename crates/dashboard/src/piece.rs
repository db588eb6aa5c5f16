//! Sentences with roles in them, which pages show as chips.

use companion_domain::{
    model::{Colour, Outline, RoleId},
    rules::{Needs, Words},
};

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// A role: the name with an `@`, or the id if the name is unknown.
    Role {
        name: String,
        colour: Option<Colour>,
    },
}

impl Piece {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Returns the chip of a role.
    pub(crate) fn role(id: &RoleId, outline: Option<&Outline>) -> Self {
        let role = outline.and_then(|outline| outline.role(*id));
        Self::Role {
            name: role.map_or_else(|| format!("Role {id}"), |role| format!("@{}", role.name)),
            colour: role.and_then(|role| role.colour.clone()),
        }
    }

    /// Returns what a permission needs.
    pub(crate) fn needs(needs: &Needs, outline: Option<&Outline>) -> Vec<Self> {
        let piece = |words| match words {
            Words::Text(text) => Self::Text(text.into_owned()),
            Words::Role(id) => Self::role(&id, outline),
        };
        needs.sentence().into_iter().map(piece).collect()
    }
}
