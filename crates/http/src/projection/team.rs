//! The rendered team.

use crate::{envelope, wire};
use actix_web::{
    http::header::{self, HeaderMap, HeaderValue},
    web::Bytes,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use companion_domain::{model::TeamMember, port::StoreError};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The team, its response body, and an entity tag derived from the body.
pub(crate) struct RenderedTeam {
    pub(crate) members: Arc<[TeamMember]>,
    pub(crate) body: Bytes,
    pub(crate) etag: HeaderValue,
}

impl RenderedTeam {
    /// Renders a team.
    pub(super) fn new(team: Vec<TeamMember>) -> Result<Self, StoreError> {
        let members: wire::ShownTeam<'_> = wire::Bounded(team.iter().map(wire::TeamMember::from).collect());
        let body =
            envelope::success("The team that maintains the bot.", members).map_err(StoreError::corrupt)?;
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(Sha256::digest(&body)));
        let etag = HeaderValue::try_from(tag).map_err(StoreError::corrupt)?;
        Ok(Self { members: team.into(), body, etag })
    }

    /// Whether `If-None-Match` contains the tag. Weak tags match too, as RFC 9110 requires.
    pub(crate) fn is_known_to(&self, headers: &HeaderMap) -> bool {
        let lists = headers.get_all(header::IF_NONE_MATCH).filter_map(|value| value.to_str().ok());
        // The tag contains no comma, so splitting at commas finds it.
        let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == self.etag.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(team: &RenderedTeam, sent: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(value).unwrap());
        }
        team.is_known_to(&headers)
    }

    #[test]
    fn matches_strong_and_weak_tags_in_lists() {
        let team = RenderedTeam::new(Vec::new()).unwrap();
        let tag = team.etag.to_str().unwrap();
        for known in [
            tag.to_owned(),
            format!("W/{tag}"),
            format!("\"a,b\", {tag}"),
            format!("\"x\",W/{tag} , \"y\""),
            "*".into(),
        ] {
            assert!(knows(&team, &[&known]), "{known}");
        }
        assert!(knows(&team, &["\"x\"", tag]));
        for unknown in ["", "\"x\"", "W/\"x\"", tag.trim_matches('"'), &tag.replace('"', "'")] {
            assert!(!knows(&team, &[unknown]), "{unknown}");
        }
        assert!(!knows(&team, &[]));
    }
}
