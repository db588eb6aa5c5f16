//! Values in words, with the names of channels and roles.

use crate::piece::Piece;
use companion_domain::{
    model::{ChannelKind, Outline, OutlineChannel},
    settings::{Bounds, Field, FieldType, Value},
};
use std::slice;

/// Characters of a text above which only its beginning is quoted.
const MAX_QUOTED: usize = 200;

/// Returns a value in words.
pub(crate) fn words(field: &Field, value: &Value, outline: Option<&Outline>) -> String {
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
    let mut pieces = Vec::new();
    for (place, id) in ids.iter().enumerate() {
        pieces.extend((place > 0).then(|| Piece::text(" ")));
        pieces.push(chip(id));
    }
    if value.is_none() {
        pieces.insert(0, Piece::text("Default: "));
    }
    pieces
}

/// Returns the name of a choice, channel or role, and any other text itself.
pub(crate) fn name(field: &Field, text: &str, outline: Option<&Outline>) -> String {
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
pub(crate) fn channel_name(channel: &OutlineChannel) -> String {
    match channel.kind {
        ChannelKind::Text => format!("#{}", channel.name),
        ChannelKind::Voice | ChannelKind::Category | ChannelKind::Forum | ChannelKind::Announcement => {
            format!("{} ({})", channel.name, channel.kind)
        }
    }
}
