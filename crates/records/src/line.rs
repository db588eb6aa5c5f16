//! One line of a sync, an import or an export: a JSON object with a `kind`. This is the list of the kinds.

use crate::{
    blocked::BlockedRecord,
    feedback::FeedbackRecord,
    format::Schemas,
    grant::GrantRecord,
    guild::GuildRecord,
    member::MemberRecord,
    node::{Fields, Mistakes, Node},
    record::{Keys, Line, Record, line_schema},
    session::SessionRecord,
    staff::StaffRecord,
    subscription::SubscriptionRecord,
    team::TeamMemberRecord,
};
use companion_domain::{model::Mistake, port};
use serde::Serialize;
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{OneOfBuilder, Ref, RefOr, Schema},
};

/// Which kinds of lines are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// What the bot feeds.
    World,
    /// That, and sessions and grants, as only an export of this service has them.
    Archive,
}

/// Reads one line.
pub(crate) fn read_line(bytes: &[u8], accepted: Accepted) -> Result<port::Record, Vec<Mistake>> {
    let (document, mut mistakes) = (serde_json::from_slice(bytes), Mistakes::default());
    let read = mistakes.document(&document).and_then(|node| read(node, accepted, &mut mistakes));
    mistakes.unless_any(read)
}

fn read(node: Node<'_, '_>, accepted: Accepted, mistakes: &mut Mistakes) -> Option<port::Record> {
    let mut fields = node.fields(mistakes)?;
    let kind = fields.required("kind", mistakes)?;
    let mut line = LineReader { fields: &mut fields, mistakes };
    let record = match (kind.value.as_str(), accepted) {
        (Some(GuildRecord::KIND), _) => line.read::<GuildRecord>().map(port::Record::Guild),
        (Some(MemberRecord::KIND), _) => line.read::<MemberRecord>().map(port::Record::Member),
        (Some(SubscriptionRecord::KIND), _) => {
            line.read::<SubscriptionRecord>().map(port::Record::Subscription)
        }
        (Some(StaffRecord::KIND), _) => {
            line.read::<StaffRecord>().map(|(user, grants)| port::Record::Staff(user, grants))
        }
        (Some(BlockedRecord::KIND), _) => {
            line.read::<BlockedRecord>().map(|(user,)| port::Record::Blocked(user))
        }
        (Some(FeedbackRecord::KIND), _) => line.read::<FeedbackRecord>().map(port::Record::Feedback),
        (Some(TeamMemberRecord::KIND), _) => line.read::<TeamMemberRecord>().map(port::Record::TeamMember),
        (Some(SessionRecord::KIND), Accepted::Archive) => {
            line.read::<SessionRecord>().map(port::Record::Session)
        }
        (Some(GrantRecord::KIND), Accepted::Archive) => {
            line.read::<GrantRecord>().map(|(user, grant)| port::Record::Grant(user, grant))
        }
        _ => return kind.refuse(mistakes, expected(accepted)),
    };
    fields.finish(mistakes);
    record
}

struct LineReader<'r, 'v, 'p> {
    fields: &'r mut Fields<'v, 'p>,
    mistakes: &'r mut Mistakes,
}

impl LineReader<'_, '_, '_> {
    fn read<R: Record>(&mut self) -> Option<R::Value> {
        R::read(Keys::InRecord, self.fields, self.mistakes)
    }
}

const fn expected(accepted: Accepted) -> &'static str {
    match accepted {
        Accepted::World => "must be guild, member, plus, staff, blocked, feedback or team",
        Accepted::Archive => "must be guild, member, plus, staff, blocked, feedback, team, session or grant",
    }
}

/// Writes a record as one line, newline included. Reading it back gives the same record.
#[must_use]
pub fn write_line(record: &port::Record) -> String {
    match record {
        port::Record::Guild(it) => written::<GuildRecord>(it),
        port::Record::Member(it) => written::<MemberRecord>(it),
        port::Record::Subscription(it) => written::<SubscriptionRecord>(it),
        port::Record::Staff(user, grants) => written::<StaffRecord>(&(*user, *grants)),
        port::Record::Blocked(user) => written::<BlockedRecord>(&(*user,)),
        port::Record::Feedback(it) => written::<FeedbackRecord>(it),
        port::Record::TeamMember(it) => written::<TeamMemberRecord>(it),
        port::Record::Session(it) => written::<SessionRecord>(it),
        port::Record::Grant(user, grant) => written::<GrantRecord>(&(*user, grant.clone())),
    }
}

fn written<R: Record>(value: &R::Value) -> String {
    let mut line = Vec::new();
    // Every format writes numbers, text, lists and maps by text, all of which JSON has.
    let _ = Line::<R>(value).serialize(&mut serde_json::Serializer::new(&mut line));
    line.push(b'\n');
    String::from_utf8(line).unwrap_or_default()
}

/// A line that a sync takes: one record of any kind that the bot feeds.
#[derive(Debug)]
pub enum SyncLine {}

impl SyncLine {
    /// A line as someone could send it.
    #[must_use]
    pub fn example() -> serde_json::Value {
        json!({"kind": BlockedRecord::KIND, "user": "190000000000000005"})
    }
}

impl PartialSchema for SyncLine {
    fn schema() -> RefOr<Schema> {
        let described = OneOfBuilder::new().description(Some("One record, on one line."));
        let lines = lines().into_iter();
        lines.fold(described, |all, (name, _)| all.item(Ref::from_schema_name(name))).into()
    }
}

impl ToSchema for SyncLine {
    fn schemas(schemas: &mut Schemas) {
        schemas.extend(lines());
        <GuildRecord as Record>::schemas(schemas);
        <FeedbackRecord as Record>::schemas(schemas);
    }
}

fn lines() -> Schemas {
    vec![
        line::<GuildRecord>(),
        line::<MemberRecord>(),
        line::<SubscriptionRecord>(),
        line::<StaffRecord>(),
        line::<BlockedRecord>(),
        line::<FeedbackRecord>(),
        line::<TeamMemberRecord>(),
    ]
}

fn line<R: Record>() -> (String, RefOr<Schema>) {
    (R::NAME.replace("Record", "Line"), line_schema::<R>())
}
