//! The schemas of records and of everything they refer to.

use crate::{
    line::{SyncLine, lines},
    outline::{ChannelRecord, RoleRecord},
    record::{Record, body_schema},
    report::{ClusterReport, ShardReport},
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
    ]);
    schemas
}

fn body<R: Record>() -> (String, RefOr<Schema>) {
    (R::NAME.to_owned(), body_schema::<R>())
}
