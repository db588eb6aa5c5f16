//! Parses what a sync replaces from its query.

use crate::request::{Query, invalid_value, number};
use companion_domain::{
    change::Kind,
    port::{Replace, ShardSlice},
};
use companion_http::ApiError;
use std::collections::BTreeSet;
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// Selects most kinds; outlines are sent by themselves.
const ALL: &str = "all";

/// Returns the kinds that can be replaced, by name.
fn kinds() -> impl Iterator<Item = (&'static str, Kind)> {
    Kind::ALL.into_iter().filter_map(|kind| Some((kind.replaced()?, kind)))
}

/// The name of a kind, for the OpenAPI document.
pub(crate) enum KindName {}

impl PartialSchema for KindName {
    fn schema() -> RefOr<Schema> {
        let names: Vec<_> = [ALL].into_iter().chain(kinds().map(|(name, _)| name)).collect();
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
    }
}

impl ToSchema for KindName {}

/// The query parameters, for the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the query that `replacement` parses")]
pub(crate) struct Replacement {
    /// Kinds whose records are removed if the stream omits them. Without it, none are removed.
    #[param(style = Form, explode = false, inline, min_items = 1)]
    replace: Option<Vec<KindName>>,
    /// Replace only guilds and members of this shard; must be below `shards`.
    #[param(minimum = 0, maximum = 4_294_967_295_u32)]
    shard: Option<u64>,
    /// Number of shards of the bot.
    #[param(minimum = 1, maximum = 4_294_967_295_u32)]
    shards: Option<u64>,
}

/// Parses `replace`, `shard` and `shards`.
pub(crate) fn replacement(query: &str) -> Result<Replace, ApiError> {
    let query = Query::read(query, &["replace", "shard", "shards"])?;
    let kinds = query.text("replace").map(kinds_of).transpose()?.unwrap_or_default();
    Ok(Replace { kinds, shard: shard_slice(&query)? })
}

/// Parses `shard` and `shards`.
pub(crate) fn shard_slice(query: &Query) -> Result<Option<ShardSlice>, ApiError> {
    let expected = "must be a whole number from 0 to 4294967295";
    let number = |name| query.text(name).map(|value| number(name, value, expected)).transpose();
    let missing = |name| Err(invalid_value(name, "is missing: shard and shards go together"));
    match (number("shard")?, number("shards")?) {
        (None, None) => Ok(None),
        (Some(index), Some(count)) => ShardSlice::new(index, count)
            .map(Some)
            .ok_or_else(|| invalid_value("shard", "must be below shards")),
        (Some(_), None) => missing("shards"),
        (None, Some(_)) => missing("shard"),
    }
}

fn kinds_of(list: &str) -> Result<BTreeSet<Kind>, ApiError> {
    let mut kinds = BTreeSet::new();
    for name in list.split(',') {
        let named: Vec<_> = self::kinds()
            .filter(|(known, kind)| *known == name || (name == ALL && kind.is_replaced_with_all()))
            .map(|(_, kind)| kind)
            .collect();
        if named.is_empty() {
            let known: Vec<_> = self::kinds().map(|(known, _)| known).collect();
            return Err(invalid_value(
                "replace",
                &format!("must be all, or a list out of {}", known.join(", ")),
            ));
        }
        kinds.extend(named);
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(query: &str) -> String {
        match replacement(query) {
            Err(ApiError::InputInvalid(fields)) => fields[0].path.clone(),
            other => panic!("{query}: {other:?}"),
        }
    }

    #[test]
    fn parses_a_list_of_kinds_or_all() {
        assert_eq!(replacement("").unwrap(), Replace::default());
        for query in ["replace=guilds,plus", "replace=plus%2Cguilds", "replace=plus,guilds,plus"] {
            assert_eq!(replacement(query).unwrap().kinds, [Kind::Guild, Kind::Subscription].into());
        }
        for query in
            ["replace=all", "replace=all,team", "replace=guilds,members,plus,staff,team,feedback,blocked"]
        {
            let kinds = replacement(query).unwrap().kinds;
            assert_eq!(kinds.len(), 7, "{query}");
            let never = [Kind::Cluster, Kind::Session, Kind::Grant];
            assert!(never.iter().all(|kind| !kinds.contains(kind)), "{query}");
        }
        for query in [
            "replace=",
            "replace=guild",
            "replace=guilds,",
            "replace=ALL",
            "replace=sessions",
            "replace=guilds&replace=team",
        ] {
            assert_eq!(problem(query), "replace", "{query}");
        }
    }

    #[test]
    fn requires_shard_and_shards_together() {
        assert_eq!(replacement("replace=all&shard=1&shards=2").unwrap().shard, ShardSlice::new(1, 2));
        for (query, wrong) in [
            ("shard=1", "shards"),
            ("shards=1", "shard"),
            ("shard=2&shards=2", "shard"),
            ("shard=0&shards=0", "shard"),
            ("shard=-1&shards=2", "shard"),
            ("shard=%2B1&shards=2", "shard"),
            ("shard=&shards=2", "shard"),
            ("shard=0&shards=x", "shards"),
            ("shard=0&shards=4294967296", "shards"),
            ("shard=0&shard=1&shards=2", "shard"),
            ("replaces=all", "replaces"),
        ] {
            assert_eq!(problem(query), wrong, "{query}");
        }
    }
}
