//! What a sync takes away, as its query says it.

use super::request::invalid_value;
use crate::error::ApiError;
use companion_domain::{
    change::Kind,
    port::{Replace, ShardSlice},
};
use std::collections::BTreeSet;

/// The names of the kinds that can be replaced.
const KINDS: [(&str, Kind); 7] = [
    ("guilds", Kind::Guild),
    ("members", Kind::Member),
    ("plus", Kind::Subscription),
    ("staff", Kind::Staff),
    ("team", Kind::Team),
    ("feedback", Kind::Feedback),
    ("blocked", Kind::Blocked),
];

/// Reads `replace`, `shard` and `shards`; anything else is refused, as a slip there would remove the wrong things.
pub(super) fn replacement(query: &str) -> Result<Replace, ApiError> {
    let (mut kinds, mut shard, mut shards) = (BTreeSet::new(), None, None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "replace" => kinds.extend(kinds_of(&value)?),
            "shard" => shard = Some(number("shard", &value)?),
            "shards" => shards = Some(number("shards", &value)?),
            other => {
                return Err(invalid_value(other, "is not known here; known are replace, shard and shards"));
            }
        }
    }
    Ok(Replace { kinds, shard: slice(shard, shards)? })
}

fn kinds_of(list: &str) -> Result<Vec<Kind>, ApiError> {
    if list == "all" {
        return Ok(KINDS.iter().map(|(_, kind)| *kind).collect());
    }
    let kind = |name: &str| KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    let kinds: Option<Vec<_>> = list.split(',').map(kind).collect();
    kinds.ok_or_else(|| {
        invalid_value(
            "replace",
            "must be all, or a list out of guilds, members, plus, staff, team, feedback, blocked",
        )
    })
}

fn number(name: &str, value: &str) -> Result<u32, ApiError> {
    value.parse().map_err(|_| invalid_value(name, "must be a whole number that is not negative"))
}

fn slice(shard: Option<u32>, shards: Option<u32>) -> Result<Option<ShardSlice>, ApiError> {
    match (shard, shards) {
        (None, None) => Ok(None),
        (Some(index), Some(count)) => ShardSlice::new(index, count)
            .map(Some)
            .ok_or_else(|| invalid_value("shard", "must be below shards")),
        (Some(_), None) => Err(invalid_value("shards", "is missing: shard and shards go together")),
        (None, Some(_)) => Err(invalid_value("shard", "is missing: shard and shards go together")),
    }
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
    fn kinds_are_named_one_by_one_or_all_at_once() {
        assert_eq!(replacement("").unwrap(), Replace::default());
        assert_eq!(
            replacement("replace=guilds,plus").unwrap().kinds,
            [Kind::Guild, Kind::Subscription].into()
        );
        assert_eq!(replacement("replace=all").unwrap().kinds.len(), 7);
        for query in ["replace=", "replace=guild", "replace=guilds,", "replace=all,team", "replace=sessions"]
        {
            assert_eq!(problem(query), "replace", "{query}");
        }
    }

    #[test]
    fn a_shard_is_named_with_its_count() {
        assert_eq!(replacement("replace=all&shard=1&shards=2").unwrap().shard, ShardSlice::new(1, 2));
        assert_eq!(problem("shard=1"), "shards");
        assert_eq!(problem("shards=1"), "shard");
        assert_eq!(problem("shard=2&shards=2"), "shard");
        assert_eq!(problem("shard=-1&shards=2"), "shard");
        assert_eq!(problem("shard=0&shards=x"), "shards");
        assert_eq!(problem("replaces=all"), "replaces");
    }
}
