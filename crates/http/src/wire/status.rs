//! The status.

use companion_domain::{
    model::{Number, Shard, ShardId},
    rules::{self, BotStatus},
};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// The running version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Version)]
pub struct BuildInfo {
    /// The version.
    #[schema(examples("0.1.0"))]
    pub name: String,
    /// The branch that it was built from.
    #[schema(examples("main"))]
    pub branch: String,
    /// The commit that it was built from.
    pub commit: Commit,
}

/// The commit that the running version was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// The full hash.
    #[schema(examples("3f786850e387550fdab836ed7e6dc881de23001b"))]
    pub sha: String,
    /// Its message.
    #[schema(examples("List guilds by role"))]
    pub message: String,
    /// Its author.
    #[schema(examples("Night Owl"))]
    pub author: String,
    /// When it was made, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    pub timestamp: i64,
}

/// How long this request took, in milliseconds.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Latency {
    /// From `Sent-Epoch` to arrival; null without that header. Negative if the clocks disagree.
    #[schema(required, examples(12.5))]
    pub(crate) response: Option<f64>,
    /// From arrival to response.
    #[schema(minimum = 0, examples(0.082))]
    pub(crate) process: f64,
}

shapes! {
    /// Status of the service and the bot.
    pub(crate) struct Status<'a>((build, bot, latency): (&'a BuildInfo, &'a BotStatus, Latency)) {
        version: &'a BuildInfo = build,
        resources: Resources = bot.into(),
        health: Health<'a> = (bot, latency).into(),
    }

    /// Resources that the bot uses.
    pub(crate) struct Resources(bot: &BotStatus) {
        /// Memory of all live clusters of the bot, in megabytes with two decimals.
        #[schema(minimum = 0, examples(512.25))]
        memory: f64 = bot.memory.get(),
    }

    /// Health of the service and the bot.
    pub(crate) struct Health<'a>((bot, latency): (&'a BotStatus, Latency)) {
        api: Api = latency.into(),
        bot: Bot<'a> = bot.into(),
    }

    /// Health of the service.
    pub(crate) struct Api(latency: Latency) {
        latency: Latency = latency,
    }

    /// Health of the bot.
    pub(crate) struct Bot<'a>(bot: &'a BotStatus) {
        #[schema(inline)]
        shards: ShardMap<'a> = ShardMap(&bot.shards),
        uptime: Uptime<'a> = (&bot.uptime).into(),
    }

    /// Uptime of the bot.
    pub(crate) struct Uptime<'a>(uptime: &'a rules::Uptime) {
        /// In words, or `not reporting`.
        #[schema(examples("3 days, 4 hours and 12 minutes"))]
        readable: &'a str = &uptime.readable,
        /// Start time in seconds since 1970; 0 while no cluster reports.
        #[schema(minimum = 0, examples(1_700_000_000))]
        epoch: i64 = uptime.since.seconds(),
    }

    /// A shard, with numbers as the bot reported them.
    pub(crate) struct ShardRecord(shard: &Shard) {
        /// When it last sent a heartbeat, in seconds since 1970.
        #[serde(rename = "heartbeatSent")]
        #[schema(value_type = f64, examples(1_700_000_000.25))]
        heartbeat_sent: Echoed = Echoed(shard.heartbeat_sent),
        /// When the platform last acknowledged one, in seconds since 1970.
        #[serde(rename = "heartbeatAcknowledged")]
        #[schema(value_type = f64, examples(1_700_000_000.3))]
        heartbeat_acknowledged: Echoed = Echoed(shard.heartbeat_acknowledged),
        /// Round-trip time of a heartbeat, in milliseconds.
        #[schema(value_type = f64, examples(48))]
        latency: Echoed = Echoed(shard.latency),
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
