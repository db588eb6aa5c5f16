//! Property tests: every record that is written can be read again.

use crate::{Accepted, Lines, schemas, write_line};
use companion_domain::{
    model::{ChannelKind, RoleKey, StaffPermission, Timestamp},
    port::{Numbered, Record},
    settings,
};
use jsonschema::Validator;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};
use std::{collections::BTreeMap, ops::RangeInclusive, sync::LazyLock};

type Any = BoxedStrategy<Value>;

fn any_of<T: Into<Value> + std::fmt::Debug + 'static>(values: impl Strategy<Value = T> + 'static) -> Any {
    values.prop_map(Into::into).boxed()
}

fn id() -> Any {
    any_of((1..=u64::MAX).prop_map(|id| id.to_string()))
}

/// Text with all characters that JSON escapes, and all kinds of line ends.
fn text(length: RangeInclusive<usize>) -> Any {
    let odd = select(vec!['\n', '\r', '"', '\\', '\u{1}', '\u{7f}', '\u{2028}', '\u{feff}', '🦉', '/']);
    let not_nul = any::<char>().prop_filter("NUL is refused", |character| *character != '\0');
    any_of(
        vec(prop_oneof![not_nul, odd], length)
            .prop_map(|characters| characters.into_iter().collect::<String>()),
    )
}

fn url() -> Any {
    any_of("https?://[a-z]{1,10}(/[!-~]{0,20})?")
}

fn one_of<T: std::fmt::Display + Clone + std::fmt::Debug>(values: &[T]) -> Any {
    any_of(select(values.iter().map(ToString::to_string).collect::<Vec<_>>()))
}

fn list(items: Any) -> Any {
    any_of(vec(items, 0..5))
}

fn or_null(value: Any) -> Any {
    any_of(option::of(value).prop_map(Option::unwrap_or_default))
}

fn fields(fields: Vec<(&'static str, Any)>) -> Any {
    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let named =
        move |values: Vec<Value>| names.iter().map(ToString::to_string).zip(values).collect::<Value>();
    values.prop_map(named).boxed()
}

/// An object with these fields.
macro_rules! object {
    ($($name:ident: $value:expr),+ $(,)?) => { fields(vec![$((stringify!($name), $value)),+]) };
}

fn map(keys: Any, values: Any) -> Any {
    let entry = |(key, value): (Value, Value)| (key.as_str().unwrap_or_default().to_owned(), value);
    any_of(
        vec((keys, values).prop_map(entry), 0..5).prop_map(|entries| entries.into_iter().collect::<Value>()),
    )
}

/// A line of any kind, as a kit or an export may write it.
fn any_line() -> Any {
    let (name, flag, version) = (|| text(1..=20), || any_of(any::<bool>()), || any_of(any::<u64>()));
    let (seconds, micros) = (|| any_of(0..=Timestamp::MAX_SECONDS), || any_of(any::<i64>()));
    let (slug, colour) = (|| any_of("[A-Za-z0-9_-]{1,64}"), || any_of("#[0-9A-Fa-f]{6}"));
    let (key, kind) = (|| any_of("[a-z][a-z0-9_]{0,3}\\.[a-z][a-z0-9_]{0,3}"), |kind| any_of(Just(kind)));
    let number = any::<f64>().prop_filter_map("finite", settings::Value::number);
    let number = any_of(number.prop_map(|number| serde_json::to_value(number).unwrap()));
    let value = prop_oneof![flag(), number, text(0..=20), list(text(0..=20))].boxed();
    let edit = || object! { at: micros(), by: or_null(id()), via: one_of(&settings::Origin::ALL) };
    let change = object! { key: key(), from: or_null(value.clone()), to: or_null(value.clone()) };
    let problem = object! { key: key(), message: text(0..=40) };
    let user = object! { id: id(), username: name(), name: name(), avatar: url() };
    let channel = object! { id: id(), name: text(0..=100), kind: one_of(&ChannelKind::ALL) };
    let role = object! { id: id(), name: text(0..=100), color: or_null(colour()) };
    let bits = any_of(any::<u64>().prop_map(|bits| bits.to_string()));
    let membership = object! { id: id(), owner: flag(), permissions: bits };
    let named = object! { id: id(), name: name(), icon: or_null(url()) };
    let platform = object! { fetched_at: micros(), guilds: list(membership), without_bot: list(named) };
    let profile = object! { name: name(), avatar: url() };
    let lines = [
        object! {
            kind: kind("guild"), id: id(), name: name(), icon: or_null(url()), members: any_of(0..=i32::MAX),
            owner: id(), setup: flag(), linked: flag(), roles: map(one_of(&RoleKey::ALL), list(id())),
        },
        object! { kind: kind("member"), guild: id(), user: id(), roles: list(id()) },
        object! { kind: kind("plus"), user: id(), guilds: list(id()), slots: any_of(0..=i32::MAX) },
        object! { kind: kind("staff"), user: id(), permissions: list(one_of(&StaffPermission::ALL)) },
        object! { kind: kind("blocked"), user: id() },
        object! {
            kind: kind("feedback"), id: slug(), feedback: text(0..=50), rating: any_of(1..=5),
            timestamp: seconds(), submitter: user,
        },
        object! {
            kind: kind("team"), discord_id: id(), username: name(), name: name(), avatar: url(), role: name(),
            color: colour(), category: name(), position: any_of(any::<i32>()),
        },
        object! { kind: kind("outline"), guild: id(), channels: list(channel), roles: list(role) },
        object! {
            kind: kind("settings"), guild: id(), revision: version(), values: map(key(), value),
            changed: or_null(edit()), applied: or_null(version()), problems: list(problem),
        },
        object! {
            kind: kind("settings_edit"), guild: id(), revision: version(), edit: edit(), changes: list(change),
        },
        object! {
            kind: kind("session"), id: any_of("[0-9a-f]{64}"), user: id(), created_at: micros(),
            last_seen_at: micros(), user_agent: or_null(any_of("\\PC{1,20}")),
        },
        object! {
            kind: kind("grant"), user: id(), version: version(),
            tokens: or_null(any_of("([A-Za-z0-9+/]{4}){0,9}")), list: or_null(platform),
            profile: or_null(profile),
        },
    ];
    proptest::strategy::Union::new(lines).boxed()
}

/// Parses a stream in pieces of this size.
fn read(text: &str, size: usize) -> Vec<Numbered> {
    let mut lines = Lines::new(Accepted::Archive);
    let mut read = Vec::new();
    for piece in text.as_bytes().chunks(size) {
        read.extend(lines.take(piece).unwrap());
    }
    read.extend(lines.finish().unwrap());
    read
}

fn record() -> impl Strategy<Value = Record> {
    any_line().prop_map(|line| read(&line.to_string(), usize::MAX).remove(0).record)
}

/// The schema of a line of a sync, from the OpenAPI document.
static LINE: LazyLock<Validator> = LazyLock::new(|| {
    let schemas: BTreeMap<_, _> = schemas().into_iter().collect();
    let document = json!({"$ref": "#/components/schemas/SyncLine", "components": {"schemas": schemas}});
    jsonschema::validator_for(&document).unwrap()
});

proptest! {
    #[test]
    fn records_round_trip_in_chunks_of_any_size(
        records in vec(record(), 0..8),
        size in 1..500_usize,
    ) {
        let text: String = records.iter().cloned().map(write_line).collect();
        prop_assert_eq!(text.lines().count(), text.matches('\n').count());
        prop_assert_eq!(text.matches('\n').count(), records.len(), "one line each");
        let read = read(&text, size);
        let numbers: Vec<_> = read.iter().map(|numbered| numbered.line).collect();
        prop_assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(read.into_iter().map(|numbered| numbered.record).collect::<Vec<_>>(), records);
    }

    #[test]
    fn written_lines_match_their_schema(record in record()) {
        let line: Value = serde_json::from_str(&write_line(record.clone())).unwrap();
        let described = record.kind().replaced().is_some();
        prop_assert_eq!(LINE.is_valid(&line), described, "{}", line);
    }
}
