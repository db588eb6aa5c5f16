//! Random schemas and values: what is accepted comes back, what is not is named. `SETTINGS=full` tries a thousand of each.

use super::folder::Folder;
use crate::shared::Place as _;
use companion_domain::{
    model::{ChannelKind, Timestamp},
    policy::Permission,
    port::SettingsStore,
    settings::{
        Bounds, Change, Choice, Edit, Field, FieldType, Many, Origin, Schema, Section, SettingKey, Value,
    },
};
use companion_testkit::world::guild_id;
use std::collections::BTreeMap;

/// Fields of a schema.
const FIELDS: u64 = 10;

/// Deterministic pseudorandom numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.roll(2) == 0).then(|| value(self))
    }

    fn text(&mut self, longest: u64) -> String {
        const ALPHABET: [&str; 12] = ["a", "b", "0", "9", "#", " ", "\n", "\"", "\\", "é", "🦀", "\u{1}"];
        (0..self.roll(longest + 1))
            .map(|_| *ALPHABET.get(usize::try_from(self.roll(12)).unwrap()).unwrap())
            .collect()
    }

    fn number(&mut self) -> f64 {
        let whole = f64::from(i32::try_from(self.roll(40)).unwrap() - 20);
        match self.roll(4) {
            0 => whole / 3.0,
            1 => whole * 1e300,
            2 => f64::from_bits(self.roll(u64::MAX) << 33 | self.roll(1 << 33)),
            _ => whole,
        }
    }

    fn field_type(&mut self) -> FieldType {
        let bounds = |dice: &mut Self| Bounds {
            min: dice.some(Self::number).filter(|bound| bound.is_finite()),
            max: dice.some(Self::number).filter(|bound| bound.is_finite()),
            unit: None,
        };
        match self.roll(8) {
            0 => FieldType::Boolean,
            1 => FieldType::Integer(bounds(self)),
            2 => FieldType::Number(bounds(self)),
            3 => FieldType::Text {
                min_length: u32::try_from(self.roll(4)).unwrap(),
                max_length: u32::try_from(self.roll(8)).unwrap(),
                multiline: self.roll(2) == 0,
            },
            4 => FieldType::Choice {
                choices: (0..self.roll(4))
                    .filter_map(|_| self.text(1).parse().ok())
                    .map(|value: companion_domain::model::Title| Choice { title: value.clone(), value })
                    .collect(),
            },
            5 => FieldType::Color,
            6 => FieldType::Channel { kinds: self.some(|_| ChannelKind::Text).into_iter().collect() },
            _ => FieldType::Role,
        }
    }

    fn field(&mut self, number: u64) -> Field {
        let small = |dice: &mut Self| u32::try_from(dice.roll(4)).unwrap();
        Field {
            key: format!("f{number}").parse().unwrap(),
            title: "A field".parse().unwrap(),
            description: None,
            field_type: self.field_type(),
            many: if self.roll(4) == 0 { Some(Many { min: small(self), max: small(self) }) } else { None },
            default: None,
        }
    }

    /// Returns a value that the field may accept.
    fn value(&mut self, field: &Field) -> Value {
        if field.many.is_some() && self.roll(8) > 0 {
            return Value::List((0..self.roll(4)).map(|_| self.text_for(field).into()).collect());
        }
        match field.field_type {
            FieldType::Boolean if self.roll(4) > 0 => Value::Boolean(self.roll(2) == 0),
            FieldType::Integer(_) | FieldType::Number(_) if self.roll(4) > 0 => {
                Value::number(self.number()).unwrap_or(Value::Boolean(true))
            }
            _ => Value::Text(self.text_for(field).into()),
        }
    }

    fn text_for(&mut self, field: &Field) -> String {
        match (&field.field_type, self.roll(4)) {
            (FieldType::Color, 1..) => format!("#{:06X}", self.roll(1 << 24)),
            (FieldType::Channel { .. } | FieldType::Role, 1..) => self.roll(50).to_string(),
            (FieldType::Choice { .. }, _) => self.text(1),
            _ => self.text(8),
        }
    }
}

/// Returns a schema that is valid: fields that are not are named, and left out.
fn schema(dice: &mut Dice) -> Schema {
    let mut fields = Vec::new();
    for number in 0..FIELDS {
        let field = dice.field(number);
        let problems = field.problems();
        assert!(problems.iter().all(|problem| !problem.path.is_empty() && !problem.message.is_empty()));
        fields.extend(problems.is_empty().then_some(field));
    }
    let section = Section {
        key: "a".parse().unwrap(),
        title: "A".parse().unwrap(),
        description: None,
        permission: Permission::Mod,
        plus: false,
        visible: false,
        fields,
    };
    Schema::new(vec![section].into_iter().filter(|section| !section.fields.is_empty()).collect()).unwrap()
}

#[tokio::test]
async fn the_store_returns_what_the_schema_accepts() {
    let size = if std::env::var("SETTINGS").is_ok_and(|size| size == "full") { 1_000 } else { 20 };
    let folder = Folder::new();
    let storage = folder.open().await;
    let (mut dice, mut accepted, mut refused) = (Dice(1), 0_u64, 0_u64);
    for number in 1..=size {
        let (schema, guild) = (schema(&mut dice), guild_id(number));
        storage.publish(&schema).await.unwrap();
        let mut expected = BTreeMap::new();
        for _ in 0..size / FIELDS {
            let mut values = BTreeMap::new();
            for (section, field) in
                schema.sections().iter().flat_map(|it| it.fields.iter().map(move |f| (it, f)))
            {
                let value = dice.value(field);
                match field.check(&value) {
                    Ok(()) => drop(values.insert(SettingKey::new(&section.key, &field.key), Some(value))),
                    Err(error) => {
                        assert!(error.path.is_empty() || error.path.starts_with('['), "{error:?}");
                        refused += 1;
                    }
                }
            }
            accepted += values.len() as u64;
            let edit = Edit { at: Timestamp::EPOCH, by: None, via: Origin::Bot };
            let change = Change { guild, values: values.clone(), expected: None, edit, authority: None };
            storage.change(&change).await.unwrap();
            expected.extend(values.into_iter().filter_map(|(key, value)| Some((key, value?))));
        }
        let stored = SettingsStore::find(&storage, guild).await.unwrap();
        assert!(stored.values.iter().eq(expected.iter()), "{stored:?} is not {expected:?}");
        let effective = schema.effective(&stored.values);
        assert!(expected.iter().all(|(key, value)| effective[key] == Some(value)), "{effective:?}");
    }
    println!("{size} schemas, {accepted} values accepted and returned, {refused} refused and named");
    assert!(accepted > size && refused > size);
}
