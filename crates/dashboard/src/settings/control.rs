//! The inputs of a field, and its values in words, with the names of channels and roles.

use super::attempt::Typed;
use crate::reason::Piece;
use companion_domain::{
    model::{ChannelKind, Colour, Outline, OutlineChannel},
    settings::{Bounds, Field, FieldType, Value},
};
use std::slice;

/// Inputs with what they contain.
pub(crate) enum Control {
    Line(Line),
    /// Text of several lines.
    Area(Line),
    /// One of a list, without colours.
    Select(Vec<Choice>),
    /// Radio buttons, or check boxes if `many`.
    Boxes {
        many: bool,
        choices: Vec<Choice>,
    },
}

/// An input of text. One of several lines has only text and placeholder.
#[derive(Default)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) placeholder: String,
    /// Step, minimum and maximum of a number.
    pub(crate) number: Option<(&'static str, Option<f64>, Option<f64>)>,
    pub(crate) pattern: Option<&'static str>,
    pub(crate) unit: Option<String>,
    /// A colour to show beside it.
    pub(crate) colour: Option<Colour>,
}

/// What can be chosen.
pub(crate) struct Choice {
    /// Empty for the default.
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) is_chosen: bool,
    pub(crate) colour: Option<Colour>,
}

impl Control {
    /// Returns the inputs of a field with what they contain. Without an outline, channels and roles are typed as ids.
    pub(crate) fn new(field: &Field, typed: &Typed, outline: Option<&Outline>) -> Self {
        let choice = |value: String, label: String, colour: Option<&Colour>| Choice {
            is_chosen: typed.has(&value),
            value,
            label,
            colour: colour.cloned(),
        };
        let many = field.many.is_some();
        let choices = match (&field.field_type, outline) {
            (FieldType::Boolean, _) => {
                [("true", "On"), ("false", "Off")].map(|(v, l)| choice(v.into(), l.into(), None)).into()
            }
            (FieldType::Choice { choices }, _) => {
                choices.iter().map(|c| choice(c.value.to_string(), c.title.to_string(), None)).collect()
            }
            (FieldType::Channel { kinds }, Some(outline)) => {
                let channels = outline.channels.as_slice().iter();
                let channels =
                    channels.map(|channel| (channel, channel.id.to_string())).filter(|(channel, id)| {
                        kinds.is_empty() || kinds.contains(&channel.kind) || typed.has(id)
                    });
                channels.map(|(channel, id)| choice(id, channel_name(channel), None)).collect()
            }
            (FieldType::Role, Some(outline)) => {
                let roles = outline.roles.as_slice().iter();
                roles
                    .map(|role| choice(role.id.to_string(), role.name.to_string(), role.colour.as_ref()))
                    .collect()
            }
            (FieldType::Integer(bounds) | FieldType::Number(bounds), _) => {
                let step = if matches!(field.field_type, FieldType::Integer(_)) { "1" } else { "any" };
                let number = Some((step, bounds.min, bounds.max));
                let unit = bounds.unit.as_ref().map(ToString::to_string);
                return Self::Line(Line { number, unit, ..Line::new(field, typed) });
            }
            (FieldType::Text { multiline: true, .. }, _) => return Self::Area(Line::new(field, typed)),
            (FieldType::Text { .. } | FieldType::Channel { .. } | FieldType::Role, _) if many => {
                return Self::Area(Line::new(field, typed));
            }
            (FieldType::Text { .. }, _) => return Self::Line(Line::new(field, typed)),
            (FieldType::Channel { .. } | FieldType::Role, None) => {
                return Self::Line(Line { pattern: Some("[0-9]{1,20}"), ..Line::new(field, typed) });
            }
            (FieldType::Color, _) => {
                let line = Line { pattern: Some("#[0-9A-Fa-f]{6}"), ..Line::new(field, typed) };
                let colour = line.text.parse().or_else(|_| line.placeholder.parse()).ok();
                return Self::Line(Line { colour, ..line });
            }
        };
        let is_role = matches!(field.field_type, FieldType::Role);
        Self::of_choices(field, typed, outline, choices, is_role || many)
    }

    /// Adds the default before the choices, and after them what is chosen but not offered.
    fn of_choices(
        field: &Field,
        typed: &Typed,
        outline: Option<&Outline>,
        mut choices: Vec<Choice>,
        has_boxes: bool,
    ) -> Self {
        let unknown: Vec<_> = typed
            .texts()
            .filter(|text| choices.iter().all(|choice| choice.value != **text))
            .map(|text| Choice {
                value: text.to_owned(),
                label: name(field, text, outline),
                is_chosen: true,
                colour: None,
            })
            .collect();
        choices.extend(unknown);
        if field.many.is_some() {
            return Self::Boxes { many: true, choices };
        }
        let is_chosen = choices.iter().all(|choice| !choice.is_chosen);
        let label = words_or_default(field, None, outline);
        choices.insert(0, Choice { value: String::new(), label, is_chosen, colour: None });
        if has_boxes { Self::Boxes { many: false, choices } } else { Self::Select(choices) }
    }
}

impl Line {
    fn new(field: &Field, typed: &Typed) -> Self {
        let placeholder = Typed::of(field, field.default.as_ref()).joined();
        Self { text: typed.joined(), placeholder, ..Self::default() }
    }
}

/// Returns what the inputs do not say themselves: the default of boxes, and what is accepted.
pub(crate) fn hint(field: &Field, control: &Control, outline: Option<&Outline>) -> String {
    let mut hints = Vec::new();
    match control {
        Control::Boxes { many: true, .. } => {
            hints.extend(
                field.default.as_ref().map(|_| format!("{}.", words_or_default(field, None, outline))),
            );
        }
        Control::Area(_) if field.many.is_some() => hints.push("One per line.".to_owned()),
        Control::Boxes { .. } | Control::Area(_) | Control::Line(_) | Control::Select(_) => {}
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
    match (value, &field.field_type) {
        (Value::Boolean(true), _) => "On".to_owned(),
        (Value::Boolean(false), _) => "Off".to_owned(),
        (
            Value::Number(number),
            FieldType::Integer(Bounds { unit: Some(unit), .. })
            | FieldType::Number(Bounds { unit: Some(unit), .. }),
        ) => {
            format!("{number} {unit}")
        }
        (Value::Number(number), _) => number.to_string(),
        (Value::Text(text), _) => name(field, text, outline),
        (Value::List(items), _) if items.is_empty() => "none".to_owned(),
        (Value::List(items), _) => {
            let names: Vec<_> = items.iter().map(|item| name(field, item, outline)).collect();
            names.join(", ")
        }
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
    let ids = match value.or(field.default.as_ref()) {
        Some(Value::Text(id)) if field.field_type == FieldType::Role => slice::from_ref(id),
        Some(Value::List(ids)) if field.field_type == FieldType::Role => ids,
        Some(_) | None => &[],
    };
    if ids.is_empty() {
        return vec![Piece::Text(words_or_default(field, value, outline))];
    }
    let chip = |id: &str| match id.parse() {
        Ok(id) => Piece::role(&id, outline),
        Err(_) => Piece::text(id),
    };
    let mut pieces = Piece::joined(ids.iter().map(|id| chip(id)), " ");
    if value.is_none() {
        pieces.insert(0, Piece::text("Default: "));
    }
    pieces
}

/// Returns the name of a choice, channel or role, and any other text itself.
fn name(field: &Field, text: &str, outline: Option<&Outline>) -> String {
    match &field.field_type {
        FieldType::Choice { choices } => {
            let choice = choices.iter().find(|choice| choice.value.as_str() == text);
            choice.map_or_else(|| text.to_owned(), |choice| choice.title.to_string())
        }
        FieldType::Channel { .. } => {
            let mut channels = outline.iter().flat_map(|outline| outline.channels.as_slice());
            let found = channels.find(|channel| channel.id.to_string() == text);
            found.map_or_else(|| format!("Unknown channel {text}"), channel_name)
        }
        FieldType::Role => {
            let found = outline.and_then(|outline| outline.role(text.parse().ok()?));
            found.map_or_else(|| format!("Unknown role {text}"), |role| role.name.to_string())
        }
        FieldType::Text { .. } if text.is_empty() => "empty".to_owned(),
        FieldType::Text { .. } if text.chars().count() > MAX_QUOTED => {
            text.chars().take(MAX_QUOTED).chain(['…']).collect()
        }
        FieldType::Text { .. }
        | FieldType::Boolean
        | FieldType::Integer(_)
        | FieldType::Number(_)
        | FieldType::Color => text.to_owned(),
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
