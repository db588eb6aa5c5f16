//! The schemas of records and of everything they refer to.

use crate::{
    line::{SyncLine, lines},
    outline::{ChannelRecord, RoleRecord},
    record::body,
    report::{ClusterReport, ShardReport},
    settings::{ChoiceRecord, FieldRecord, ManyRecord, ProblemRecord, SectionRecord},
    team::{Team, TeamMemberRecord},
    user::UserRecord,
    values::Snowflake,
};
use utoipa::{
    PartialSchema as _, ToSchema as _,
    openapi::{RefOr, Schema},
};

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
