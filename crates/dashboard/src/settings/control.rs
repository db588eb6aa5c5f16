//! The inputs of a field, and its values in words, with the names of channels and roles.

use super::attempt::Typed;
use crate::reason::Piece;
use companion_domain::{
    model::{ChannelKind, Colour, Outline, OutlineChannel, OutlineRole},
    settings::{Bounds, Field, FieldType, Value},
};

/// The inputs of a field.
pub(crate) enum Control<'a> {
    /// An input of text: step and bounds of a number, the pattern of other text, and a colour to show beside it.
    Line { number: Option<(&'static str, &'a Bounds)>, pattern: Option<&'static str>, colour: Option<Colour> },
    /// Text of several lines.
    Area,
    /// One of a list, without colours.
    Select(Vec<Choice>),
    /// Radio buttons, or check boxes if `many`.
    Boxes { many: bool, choices: Vec<Choice> },
}

/// What can be chosen.
pub(crate) struct Choice {
    /// Empty for the default.
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) is_chosen: bool,
    pub(crate) colour: Option<Colour>,
}

impl<'a> Control<'a> {
    /// Returns the inputs of a field. Without an outline, channels and roles are typed as ids.
    pub(crate) fn new(field: &'a Field, typed: &Typed, outline: Option<&Outline>) -> Self {
        let many = field.many.is_some();
        let line = |pattern| Self::Line { number: None, pattern, colour: None };
        match (&field.field_type, outline) {
            (FieldType::Boolean | FieldType::Choice { .. }, _)
            | (FieldType::Channel { .. } | FieldType::Role, Some(_)) => {
                Self::of_choices(field, typed, outline)
            }
            (FieldType::Integer(bounds) | FieldType::Number(bounds), _) => {
                let step = if matches!(field.field_type, FieldType::Integer(_)) { "1" } else { "any" };
                Self::Line { number: Some((step, bounds)), pattern: None, colour: None }
            }
            (FieldType::Text { multiline: true, .. }, _) => Self::Area,
            (FieldType::Text { .. } | FieldType::Channel { .. } | FieldType::Role, _) if many => Self::Area,
            (FieldType::Text { .. }, _) => line(None),
            (FieldType::Channel { .. } | FieldType::Role, None) => line(Some("[0-9]{1,20}")),
            (FieldType::Color, _) => {
                let colour = typed.joined().parse().or_else(|_| placeholder(field).parse()).ok();
                Self::Line { number: None, pattern: Some("#[0-9A-Fa-f]{6}"), colour }
            }
        }
    }

    /// Returns the choices of a field: the default before them, and after them what is chosen but unknown.
    fn of_choices(field: &Field, typed: &Typed, outline: Option<&Outline>) -> Self {
        let options = options(field, outline, None);
        let is_known = |text: &str| options.iter().any(|(option, _)| option.value == text);
        let unknown = typed.texts().filter(|text| !is_known(text)).map(|text| Choice {
            value: text.to_owned(),
            label: name(field, text, &[]),
            is_chosen: true,
            colour: None,
        });
        let unknown: Vec<_> = unknown.collect();
        let known = options.into_iter().map(|(option, is_offered)| {
            let is_chosen = typed.has(&option.value);
            (is_offered || is_chosen).then_some(Choice { is_chosen, ..option })
        });
        let mut choices: Vec<_> = known.flatten().chain(unknown).collect();
        if field.many.is_some() {
            return Self::Boxes { many: true, choices };
        }
        let is_chosen = choices.iter().all(|choice| !choice.is_chosen);
        let label = words_or_default(field, None, outline);
        choices.insert(0, Choice { value: String::new(), label, is_chosen, colour: None });
        match field.field_type {
            FieldType::Role => Self::Boxes { many: false, choices },
            _ => Self::Select(choices),
        }
    }
}

/// Returns what has a name, and whether it is offered: a channel of another kind is not. Of channels, which may be many,
/// only those of a value if it is given.
fn options(field: &Field, outline: Option<&Outline>, of: Option<&Typed>) -> Vec<(Choice, bool)> {
    let choice = |value: String, label: String, colour: Option<&Colour>| Choice {
        value,
        label,
        is_chosen: false,
        colour: colour.cloned(),
    };
    match &field.field_type {
        FieldType::Boolean => {
            [("true", "On"), ("false", "Off")].map(|(v, l)| (choice(v.into(), l.into(), None), true)).into()
        }
        FieldType::Choice { choices } => {
            let choices = choices.iter();
            choices.map(|c| (choice(c.value.to_string(), c.title.to_string(), None), true)).collect()
        }
        FieldType::Channel { kinds } => {
            let channels = outline.iter().flat_map(|outline| outline.channels.as_slice());
            let is_offered = |kind: &ChannelKind| kinds.is_empty() || kinds.contains(kind);
            let option = |channel: &OutlineChannel| {
                (choice(channel.id.to_string(), channel_name(channel), None), is_offered(&channel.kind))
            };
            let is_named =
                |channel: &&OutlineChannel| of.is_none_or(|typed| typed.has(&channel.id.to_string()));
            channels.filter(is_named).map(option).collect()
        }
        FieldType::Role => {
            let roles = outline.iter().flat_map(|outline| outline.roles.as_slice());
            let option = |role: &OutlineRole| {
                (choice(role.id.to_string(), role.name.to_string(), role.colour.as_ref()), true)
            };
            roles.map(option).collect()
        }
        FieldType::Integer(_) | FieldType::Number(_) | FieldType::Text { .. } | FieldType::Color => {
            Vec::new()
        }
    }
}

/// Returns what an empty input of text shows: the default.
pub(crate) fn placeholder(field: &Field) -> String {
    Typed::of(field, field.default.as_ref()).joined()
}

/// Returns what the inputs do not say themselves: the default of boxes, and what is accepted.
pub(crate) fn hint(field: &Field, control: &Control<'_>, outline: Option<&Outline>) -> String {
    let mut hints = Vec::new();
    match control {
        Control::Boxes { many: true, .. } => {
            hints.extend(
                field.default.as_ref().map(|_| format!("{}.", words_or_default(field, None, outline))),
            );
        }
        Control::Area if field.many.is_some() => hints.push("One per line.".to_owned()),
        Control::Boxes { .. } | Control::Area | Control::Line { .. } | Control::Select(_) => {}
    }
    hints.extend(field.many.map(|many| match many.min {
        0 => format!("At most {}.", many.max),
        min => format!("{min} to {}.", many.max),
    }));
    hints.extend(match &field.field_type {
        FieldType::Integer(Bounds { min, max, .. }) | FieldType::Number(Bounds { min, max, .. }) => {
            match (min, max) {
                (Some(min), Some(max)) => Some(format!("From {min} to {max}.")),
                (Some(min), None) => Some(format!("At least {min}.")),
                (None, Some(max)) => Some(format!("At most {max}.")),
                (None, None) => None,
            }
        }
        FieldType::Text { min_length, max_length, .. } => match (*min_length, *max_length) {
            (0, FieldType::MAX_LENGTH) => None,
            (0, most) => Some(format!("At most {most} characters.")),
            (least, most) => Some(format!("{least} to {most} characters.")),
        },
        FieldType::Channel { .. } | FieldType::Role if outline.is_none() => {
            Some("The bot has not sent the names yet, so this is an id.".to_owned())
        }
        FieldType::Color => Some("# and six hexadecimal digits.".to_owned()),
        FieldType::Boolean | FieldType::Choice { .. } | FieldType::Channel { .. } | FieldType::Role => None,
    });
    hints.join(" ")
}

/// Characters of a text above which only its beginning is quoted.
const MAX_QUOTED: usize = 200;

/// Returns a value in words.
fn words(field: &Field, value: &Value, outline: Option<&Outline>) -> String {
    let typed = Typed::of(field, Some(value));
    let options = options(field, outline, Some(&typed));
    let names: Vec<_> = typed.texts().map(|text| name(field, text, &options)).collect();
    match (names.is_empty(), field.many) {
        (false, _) => names.join(", "),
        (true, Some(_)) => "none".to_owned(),
        (true, None) => "empty".to_owned(),
    }
}

/// Returns a value in words, or the default and that it is one.
pub(crate) fn words_or_default(field: &Field, value: Option<&Value>, outline: Option<&Outline>) -> String {
    match (value, &field.default) {
        (Some(value), _) => words(field, value, outline),
        (None, Some(default)) => format!("Default ({})", words(field, default, outline)),
        (None, None) => "Not set".to_owned(),
    }
}

/// Like [`words_or_default`], but with chips for roles.
pub(crate) fn pieces_or_default(
    field: &Field,
    value: Option<&Value>,
    outline: Option<&Outline>,
) -> Vec<Piece> {
    let ids = Typed::of(field, value.or(field.default.as_ref()));
    if field.field_type != FieldType::Role || ids == Typed::default() {
        return vec![Piece::Text(words_or_default(field, value, outline))];
    }
    let chip = |id: &str| match id.parse() {
        Ok(id) => Piece::role(&id, outline),
        Err(_) => Piece::text(id),
    };
    let mut pieces = Piece::joined(ids.texts().map(chip), " ");
    if value.is_none() {
        pieces.insert(0, Piece::text("Default: "));
    }
    pieces
}

/// Returns the name of an option, and any other text itself.
fn name(field: &Field, text: &str, options: &[(Choice, bool)]) -> String {
    if let Some((option, _)) = options.iter().find(|(option, _)| option.value == text) {
        return option.label.clone();
    }
    match &field.field_type {
        FieldType::Channel { .. } => format!("Unknown channel {text}"),
        FieldType::Role => format!("Unknown role {text}"),
        FieldType::Integer(Bounds { unit: Some(unit), .. })
        | FieldType::Number(Bounds { unit: Some(unit), .. }) => format!("{text} {unit}"),
        FieldType::Text { .. } if text.chars().count() > MAX_QUOTED => {
            text.chars().take(MAX_QUOTED).chain(['…']).collect()
        }
        _ => text.to_owned(),
    }
}

/// Returns the name of a channel, with its kind unless it is one of messages.
fn channel_name(channel: &OutlineChannel) -> String {
    match channel.kind {
        ChannelKind::Text => format!("#{}", channel.name),
        ChannelKind::Voice | ChannelKind::Category | ChannelKind::Forum | ChannelKind::Announcement => {
            format!("{} ({})", channel.name, channel.kind)
        }
    }
}
