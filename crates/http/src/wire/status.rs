//! Shape of the status.

use crate::build_info::BuildInfo;
use companion_domain::{
    model::{Number, Shard, ShardId},
    rules,
};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// Status of the service and the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status<'a> {
    pub(crate) version: Version<'a>,
    pub(crate) resources: Resources,
    pub(crate) health: Health<'a>,
}

/// The running version.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version<'a> {
    #[schema(examples("0.1.0"))]
    name: &'a str,
    #[schema(examples("main"))]
    branch: &'a str,
    commit: Commit<'a>,
}

/// The commit that the running version was built from.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Commit<'a> {
    /// The full hash.
    #[schema(examples("3f786850e387550fdab836ed7e6dc881de23001b"))]
    sha: &'a str,
    #[schema(examples("List guilds by role"))]
    message: &'a str,
    #[schema(examples("Night Owl"))]
    author: &'a str,
    /// When it was made, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    timestamp: i64,
}

impl<'a> From<&'a BuildInfo> for Version<'a> {
    fn from(build: &'a BuildInfo) -> Self {
        let commit = Commit {
            sha: &build.sha,
            message: &build.message,
            author: &build.author,
            timestamp: build.timestamp,
        };
        Self { name: &build.name, branch: &build.branch, commit }
    }
}

/// Resources that the bot uses.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resources {
    /// Memory of all live clusters of the bot, in megabytes with two decimals.
    #[schema(minimum = 0, examples(512.25))]
    pub(crate) memory: f64,
}

/// Health of the service and the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Health<'a> {
    pub(crate) api: Api,
    pub(crate) bot: Bot<'a>,
}

/// Health of the service.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Api {
    pub(crate) latency: Latency,
}

/// How long this request took, in milliseconds.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Latency {
    /// From `Sent-Epoch` to arrival; null without that header. Negative if the clocks disagree.
    #[schema(required, examples(12.5))]
    pub(crate) response: Option<f64>,
    /// From arrival to response.
    #[schema(minimum = 0, examples(0.082))]
    pub(crate) process: f64,
}

/// Health of the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bot<'a> {
    #[schema(inline)]
    shards: ShardMap<'a>,
    uptime: Uptime<'a>,
}

impl<'a> From<&'a rules::BotStatus> for Bot<'a> {
    fn from(status: &'a rules::BotStatus) -> Self {
        let uptime = Uptime { readable: &status.uptime.readable, epoch: status.uptime.since.seconds() };
        Self { shards: ShardMap(&status.shards), uptime }
    }
}

/// Shards by id.
pub(crate) struct ShardMap<'a>(&'a BTreeMap<ShardId, Shard>);

impl Serialize for ShardMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(id, shard)| (id.get(), ShardRecord::from(shard))))
    }
}

impl PartialSchema for ShardMap<'_> {
    fn schema() -> RefOr<Schema> {
        let id =
            ObjectBuilder::new().schema_type(Type::String).pattern(Some("^(0|[1-9][0-9]{0,9})$")).build();
        ObjectBuilder::new()
            .description(Some("Each shard of the live clusters by its id."))
            .property_names(Some(Schema::Object(id)))
            .additional_properties(Some(utoipa::openapi::Ref::from_schema_name(ShardRecord::name())))
            .into()
    }
}

impl ToSchema for ShardMap<'_> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((ShardRecord::name().into(), ShardRecord::schema()));
    }
}

/// A shard, with numbers as the bot reported them.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShardRecord {
    /// When it last sent a heartbeat, in seconds since 1970.
    #[serde(rename = "heartbeatSent")]
    #[schema(value_type = f64, examples(1_700_000_000.25))]
    heartbeat_sent: Echoed,
    /// When the platform last acknowledged one, in seconds since 1970.
    #[serde(rename = "heartbeatAcknowledged")]
    #[schema(value_type = f64, examples(1_700_000_000.3))]
    heartbeat_acknowledged: Echoed,
    /// Round-trip time of a heartbeat, in milliseconds.
    #[schema(value_type = f64, examples(48))]
    latency: Echoed,
}

impl From<&Shard> for ShardRecord {
    fn from(shard: &Shard) -> Self {
        Self {
            heartbeat_sent: Echoed(shard.heartbeat_sent),
            heartbeat_acknowledged: Echoed(shard.heartbeat_acknowledged),
            latency: Echoed(shard.latency),
        }
    }
}

/// A number passed through as the bot reported it: integers stay integers.
struct Echoed(Number);

impl Serialize for Echoed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Number::Integer(whole) => serializer.serialize_i64(whole),
            Number::Fraction(fraction) => serializer.serialize_f64(fraction.get()),
        }
    }
}

/// Uptime of the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Uptime<'a> {
    /// In words, or `not reporting`.
    #[schema(examples("3 days, 4 hours and 12 minutes"))]
    readable: &'a str,
    /// Start time in seconds since 1970; 0 while no cluster reports.
    #[schema(minimum = 0, examples(1_700_000_000))]
    epoch: i64,
}

/// Returns milliseconds with three decimals. Finer values would be noise.
pub(crate) fn milliseconds(micros: f64) -> f64 {
    // Adding zero turns minus zero into zero, and changes nothing else.
    micros.round() / 1000.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn rounds_tiny_durations_to_plain_zero() {
        for micros in [0.25, 0.0, -0.25] {
            assert_eq!(format!("{:?}", milliseconds(micros)), "0.0", "{micros}");
        }
        assert_eq!((milliseconds(1500.4), milliseconds(-1.0)), (1.5, -0.001));
    }
}
