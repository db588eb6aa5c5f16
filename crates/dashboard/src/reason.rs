//! What the user may do in a guild and why, in sentences with roles in them, which pages show as chips.

use crate::permission_text::{Wording, Wordings};
use companion_domain::{
    model::{Colour, Outline, RoleId, RoleKey},
    policy::{Fact, Source, StaffPermission},
    rules::{Needs, Words},
    usecase::Explanation,
};

/// What the user may do, and what not.
pub(crate) struct PermissionsView<'a> {
    pub(crate) granted: Vec<PermissionGroup<'a>>,
    pub(crate) denied: Vec<PermissionGroup<'a>>,
}

/// A heading, and the permissions under it.
type PermissionGroup<'a> = (&'a str, Vec<PermissionView<'a>>);

/// A permission and the reason it is granted, or what it needs.
pub(crate) struct PermissionView<'a> {
    pub(crate) wording: &'a Wording,
    pub(crate) is_granted: bool,
    pub(crate) reason: Vec<Piece>,
}

impl<'a> PermissionsView<'a> {
    /// Returns the permissions of a user, by group. Those of the bot's staff are only for its staff.
    pub(crate) fn new(explanation: &Explanation, wordings: &'a Wordings) -> Self {
        let held = explanation.verdict.decision.permissions();
        let is_staff = !explanation.user.staff.is_empty();
        let shown = wordings.shown().filter(|wording| is_staff || !is_of_staff(wording));
        let (granted, denied): (Vec<_>, _) = shown.partition(|wording| held.contains(wording.permission));
        let grouped = |rows: Vec<&'a Wording>| {
            let mut groups: Vec<PermissionGroup<'a>> = Vec::new();
            for wording in rows {
                let view = PermissionView::new(wording, explanation, wordings);
                match groups.iter_mut().find(|(name, _)| *name == wording.group) {
                    Some((_, permissions)) => permissions.push(view),
                    None => groups.push((&wording.group, vec![view])),
                }
            }
            groups
        };
        Self { granted: grouped(granted), denied: grouped(denied) }
    }

    /// Returns the number of permissions that the user does not have.
    pub(crate) fn denied_count(&self) -> usize {
        self.denied.iter().map(|(_, permissions)| permissions.len()).sum()
    }
}

fn is_of_staff(wording: &Wording) -> bool {
    wording.permission.as_str().parse::<StaffPermission>().is_ok()
}

impl<'a> PermissionView<'a> {
    fn new(wording: &'a Wording, explanation: &Explanation, wordings: &Wordings) -> Self {
        let needs = explanation.needs(wording.permission);
        Self {
            wording,
            is_granted: needs.is_none(),
            reason: match needs {
                Some(needs) => Piece::needs(&needs, explanation.outline.as_ref()),
                None => reason(wording, explanation, wordings),
            },
        }
    }
}

/// Returns why a permission is granted: the fact at the end of the chain. Among the permissions of the bot's staff it is
/// the permission that it comes with, because the team granted that one.
fn reason(wording: &Wording, explanation: &Explanation, wordings: &Wordings) -> Vec<Piece> {
    let chain = explanation.verdict.decision.why(wording.permission);
    match chain.as_slice() {
        [Source::Implied(other), .., Source::Fact(Fact::Granted(_))] => {
            vec![Piece::Text(format!("Comes with {}.", wordings.label(*other)))]
        }
        [.., Source::Fact(fact)] => because(*fact, explanation),
        _ => Vec::new(),
    }
}

fn because(fact: Fact, explanation: &Explanation) -> Vec<Piece> {
    let text = match fact {
        Fact::OwnsGuild => "You own this guild.",
        Fact::PlatformAdministrator => "You have Administrator here.",
        Fact::PlatformManageServer => "You have Manage Server here.",
        Fact::Bound(key) => return bound(key, explanation),
        Fact::GuildSetUp => "The bot is set up here.",
        Fact::GuildLinked => "This guild is linked to a game server.",
        Fact::GuildHasPlus => "A subscription covers this guild.",
        Fact::UserHasPlus => "You have a subscription.",
        Fact::Granted(_) => "The bot's team gave it to you.",
    };
    vec![Piece::text(text)]
}

fn bound(key: RoleKey, explanation: &Explanation) -> Vec<Piece> {
    let held = explanation.roles_bound_to(key);
    let chips = held.iter().map(|role| Piece::role(role, explanation.outline.as_ref()));
    let mut pieces = Piece::joined(chips, " and ");
    pieces.insert(0, Piece::text("You have the role "));
    pieces.push(Piece::text("."));
    pieces
}

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

    /// Returns these with a text between them.
    pub(crate) fn joined(pieces: impl Iterator<Item = Self>, between: &str) -> Vec<Self> {
        let between = |(place, piece)| [(place > 0).then(|| Self::text(between)), Some(piece)];
        pieces.enumerate().flat_map(between).flatten().collect()
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
