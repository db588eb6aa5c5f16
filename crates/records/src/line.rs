//! A line of a sync, an import or an export: a JSON object with a `kind`. Lists the kinds, and all schemas.

use crate::{
    format::{closed_object, described},
    guild::{ChannelRecord, GuildRecord, MemberRecord, OutlineRecord, RoleRecord, SubscriptionRecord},
    node::{FieldErrors, Fields, Node},
    people::{BlockedRecord, FeedbackRecord, StaffRecord, UserRecord},
    record::{KeyPart, Keys, Record, body},
    report::{ClusterReport, ShardReport},
    settings::{
        ChoiceRecord, FieldRecord, ManyRecord, ProblemRecord, SchemaRecord, SectionRecord,
        SettingsEditRecord, SettingsRecord,
    },
    sign_in::{GrantRecord, SessionRecord},
    status_history::{NoticeRecord, PeriodRecord},
    team::{Team, TeamMemberRecord},
    values::Snowflake,
};
use companion_domain::{
    change::{Key, Kind},
    model::FieldError,
    port,
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, schema::Type},
};

/// Which kinds of lines are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Kinds that the bot feeds.
    World,
    /// All kinds with records, some of which only an export of this service contains.
    Archive,
}

impl Accepted {
    fn has(self, kind: Kind) -> bool {
        kind.has_records() && (self == Self::Archive || kind.replaced().is_some())
    }
}

/// A record that a line may contain.
pub trait LineRecord: Record {
    /// The kind of the record.
    const KIND: Kind;

    /// Converts a value to the domain's record.
    fn into_record(value: Self::Value) -> port::Record;

    /// Returns the value of a record of this kind. `None` if the record is of another kind.
    fn from_record(record: port::Record) -> Option<Self::Value>;
}

/// A record that is put, found and removed by its key.
pub trait KeyedRecord: LineRecord {
    /// Converts a key to the domain's key.
    fn into_key(key: Self::Key) -> Key;
}

macro_rules! line_records {
    ($($record:ident is $kind:ident($($part:ident),+) of $value:tt $(, keyed by ($($key:ident),+))?;)+) => {
        $(
            impl LineRecord for $record {
                const KIND: Kind = Kind::$kind;

                fn into_record(value: Self::Value) -> port::Record {
                    let $value = value;
                    port::Record::$kind($($part),+)
                }

                fn from_record(record: port::Record) -> Option<Self::Value> {
                    match record {
                        port::Record::$kind($($part),+) => Some($value),
                        _ => None,
                    }
                }
            }

            $(impl KeyedRecord for $record {
                fn into_key(($($key,)+): Self::Key) -> Key {
                    Key::$kind($($key),+)
                }
            })?
        )+

        /// Reads the fields of a record of this kind.
        fn read_fields(kind: Kind, fields: &mut Fields<'_, '_>, errors: &mut FieldErrors) -> Option<port::Record> {
            match kind {
                $(Kind::$kind => {
                    $record::read(Keys::InRecord, fields, errors).map($record::into_record)
                })+
                Kind::Applied | Kind::Cluster => None,
            }
        }

        /// Writes a record as one line, including the newline. Reading it returns the same record.
        #[must_use]
        pub fn write_line(record: port::Record) -> String {
            match record {
                $(port::Record::$kind($($part),+) => written::<$record>(&$value),)+
            }
        }

        /// Returns the schema of each kind of line that a sync accepts, by name.
        fn lines() -> Vec<(String, RefOr<Schema>)> {
            let all = [$((Kind::$kind, line::<$record> as fn() -> (String, RefOr<Schema>))),+];
            all.into_iter().filter(|(kind, _)| Accepted::World.has(*kind)).map(|(_, line)| line()).collect()
        }
    };
}

line_records! {
    GuildRecord is Guild(guild) of guild, keyed by (id);
    MemberRecord is Member(member) of member, keyed by (guild, user);
    SubscriptionRecord is Subscription(subscription) of subscription, keyed by (user);
    StaffRecord is Staff(user, grants) of (user, grants), keyed by (user);
    BlockedRecord is Blocked(user) of (user,), keyed by (user);
    FeedbackRecord is Feedback(feedback) of feedback, keyed by (id);
    TeamMemberRecord is Team(member) of member;
    OutlineRecord is Outline(outline) of outline, keyed by (guild);
    SchemaRecord is Schema(schema) of (schema,);
    SettingsRecord is Settings(guild, stored) of (guild, stored);
    SettingsEditRecord is SettingsEdit(entry) of entry;
    NoticeRecord is Notice(notice) of notice, keyed by (id);
    PeriodRecord is Period(period) of period;
    SessionRecord is Session(session) of session;
    GrantRecord is Grant(user, grant) of (user, grant);
}

/// Reads one line.
pub(crate) fn read_line(bytes: &[u8], accepted: Accepted) -> Result<port::Record, Vec<FieldError>> {
    let (document, mut errors) = (serde_json::from_slice(bytes), FieldErrors::default());
    let read = errors.document(&document).and_then(|node| read(node, accepted, &mut errors));
    errors.unless_any(read)
}

fn read(node: Node<'_, '_>, accepted: Accepted, errors: &mut FieldErrors) -> Option<port::Record> {
    let mut fields = node.fields(errors)?;
    let name = fields.required("kind", errors)?;
    let mut kinds = Kind::ALL.into_iter().filter(|kind| accepted.has(*kind));
    let Some(kind) = kinds.clone().find(|kind| name.value.as_str() == Some(kind.event())) else {
        let last = kinds.next_back().map_or("", Kind::event);
        let others: Vec<_> = kinds.map(Kind::event).collect();
        return name.refuse(errors, format!("must be {} or {last}", others.join(", ")));
    };
    let record = read_fields(kind, &mut fields, errors);
    fields.finish(errors);
    record
}

fn written<R: LineRecord>(value: &R::Value) -> String {
    let mut line = Vec::new();
    // Infallible: every format writes numbers, text, lists and maps with text keys, all of which JSON has.
    let _ = Line::<R>(value).serialize(&mut serde_json::Serializer::new(&mut line));
    line.push(b'\n');
    String::from_utf8(line).unwrap_or_default()
}

/// A record as a line: its kind, its key, its fields.
struct Line<'a, R: LineRecord>(&'a R::Value);

impl<R: LineRecord> Serialize for Line<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", R::KIND.event())?;
        R::write_key(self.0, &mut map)?;
        R::write_fields(self.0, &mut map)?;
        map.end()
    }
}

/// A line of a sync: a record of any kind that the bot feeds.
#[derive(Debug)]
pub enum SyncLine {}

impl SyncLine {
    /// Returns an example of a line.
    #[must_use]
    pub fn example() -> serde_json::Value {
        json!({"kind": BlockedRecord::KIND.event(), "user": "190000000000000005"})
    }
}

impl PartialSchema for SyncLine {
    fn schema() -> RefOr<Schema> {
        let described = OneOfBuilder::new().description(Some("One record, on one line."));
        let lines = lines().into_iter();
        lines.fold(described, |all, (name, _)| all.item(Ref::from_schema_name(name))).into()
    }
}

impl ToSchema for SyncLine {}

fn line<R: LineRecord>() -> (String, RefOr<Schema>) {
    let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([R::KIND.event()]));
    let object = closed_object().property("kind", kind).required("kind");
    let with_part = |object: ObjectBuilder, part: KeyPart| {
        object.property(part.field, described(part.schema, part.description)).required(part.field)
    };
    let schema = R::describe(R::key_parts().into_iter().fold(object, with_part)).into();
    (R::NAME.replace("Record", "Line"), schema)
}

/// Returns the schemas by component name. The schemas of records with a key are added by the crate that serves them.
#[must_use]
pub fn schemas() -> Vec<(String, RefOr<Schema>)> {
    let mut schemas = lines();
    schemas.extend([
        (Snowflake::name().into(), Snowflake::schema()),
        (SyncLine::name().into(), SyncLine::schema()),
        (Team::name().into(), Team::schema()),
        body::<TeamMemberRecord>(),
        body::<UserRecord>(),
        body::<ChannelRecord>(),
        body::<RoleRecord>(),
        body::<ClusterReport>(),
        body::<ShardReport>(),
        body::<SectionRecord>(),
        body::<FieldRecord>(),
        body::<ChoiceRecord>(),
        body::<ManyRecord>(),
        body::<ProblemRecord>(),
    ]);
    schemas
}
