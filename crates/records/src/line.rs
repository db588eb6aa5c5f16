//! One line of a sync, an import or an export: a JSON object with a `kind`. This is the list of the kinds.

use crate::{
    feedback::FeedbackRecord,
    grant::GrantRecord,
    guild::{GuildRecord, MemberRecord, SubscriptionRecord},
    node::{Fields, Mistakes, Node},
    record::{Keys, Line, Record, line_schema},
    session::SessionRecord,
    team::TeamMemberRecord,
    user::{BlockedRecord, StaffRecord},
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
    use port::Record::{Blocked, Feedback, Grant, Guild, Member, Session, Staff, Subscription, TeamMember};
    let mut fields = node.fields(mistakes)?;
    let kind = fields.required("kind", mistakes)?;
    let archive = accepted == Accepted::Archive;
    let (line, noted) = (&mut fields, &mut *mistakes);
    let record = match kind.value.as_str() {
        Some(GuildRecord::KIND) => keyed::<GuildRecord>(line, noted).map(Guild),
        Some(MemberRecord::KIND) => keyed::<MemberRecord>(line, noted).map(Member),
        Some(SubscriptionRecord::KIND) => keyed::<SubscriptionRecord>(line, noted).map(Subscription),
        Some(StaffRecord::KIND) => keyed::<StaffRecord>(line, noted).map(|(user, it)| Staff(user, it)),
        Some(BlockedRecord::KIND) => keyed::<BlockedRecord>(line, noted).map(|(user,)| Blocked(user)),
        Some(FeedbackRecord::KIND) => keyed::<FeedbackRecord>(line, noted).map(Feedback),
        Some(TeamMemberRecord::KIND) => keyed::<TeamMemberRecord>(line, noted).map(TeamMember),
        Some(SessionRecord::KIND) if archive => keyed::<SessionRecord>(line, noted).map(Session),
        Some(GrantRecord::KIND) if archive => {
            keyed::<GrantRecord>(line, noted).map(|(user, it)| Grant(user, it))
        }
        _ => return kind.refuse(mistakes, expected(accepted)),
    };
    fields.finish(mistakes);
    record
}

fn keyed<R: Record>(line: &mut Fields<'_, '_>, mistakes: &mut Mistakes) -> Option<R::Value> {
    R::read(Keys::InRecord, line, mistakes)
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

impl ToSchema for SyncLine {}

/// The schema of each kind of line, by name.
pub(crate) fn lines() -> Vec<(String, RefOr<Schema>)> {
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
