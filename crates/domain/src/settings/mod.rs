//! Settings of a guild: the bot publishes a schema, people and the bot change values, the bot confirms them.
//!
//! Everything here is a pure function of its arguments. A store calls [`Change::decide`] inside the transaction that
//! writes, so that schema, values and permissions are those of that moment.

mod change;
mod json;
mod schema;
mod value;

pub use self::{
    change::{
        Access, Authority, Change, ChangedField, Decided, Edit, HistoryEntry, Origin, Problem, Rejected,
        Rights, Stored, UserStanding,
    },
    schema::{Bounds, Choice, Field, FieldType, Many, PartKey, Schema, Section, SettingKey, repeated},
    value::{Value, Values},
};
