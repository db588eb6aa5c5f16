//! `/status.json` and `/badge.svg`, which other sites may embed.

use super::not_loaded;
use crate::{
    bot::health,
    context::Exchange,
    date::Date,
    page::{self, Answer},
};
use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
};
use askama::Template;
use companion_domain::{
    change::Kind,
    rules::{ShardState, days},
};
use serde_json::{Map, json};

/// Short enough to be current, and long enough for a page that many people read.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("max-age=30");

fn embeddable(media_type: &'static str, body: String) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(media_type)
        .insert_header((header::CACHE_CONTROL, CACHE_CONTROL))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((header::CROSS_ORIGIN_RESOURCE_POLICY, "cross-origin"))
        .body(body)
}

/// The status for programs.
pub(crate) async fn json(Exchange { context, .. }: Exchange) -> Answer {
    context.projections.read(Kind::Cluster).await?;
    let (health, now) = (health(&context).ok_or_else(not_loaded)?, context.clock.now());
    let shards: Map<_, _> = ShardState::ALL
        .iter()
        .map(|state| (state.as_str().to_owned(), health.count(*state).into()))
        .collect();
    let periods = context.projections.periods().ok_or_else(not_loaded)?;
    let notices = context.projections.notices().ok_or_else(not_loaded)?;
    let notices: Vec<_> = notices
        .iter()
        .filter(|notice| !notice.is_over(now))
        .map(|notice| {
            json!({
                "id": notice.id.as_str(), "kind": notice.kind.as_str(), "title": notice.title.as_str(),
                "text": notice.text.as_str(), "from": notice.from.seconds(),
                "until": notice.until.map(|until| until.seconds()),
            })
        })
        .collect();
    let days: Vec<_> = days(periods.iter(), now)
        .iter()
        .map(|day| json!({"day": Date::of(day.start, now).iso_day(), "state": day.state.as_str()}))
        .collect();
    let totals = context.guild_totals().await?;
    let status = json!({
        "state": health.state.as_str(), "shards": shards, "guilds": totals.map(|totals| totals.guilds),
        "members": totals.map(|totals| totals.members),
        "notices": notices, "days": days,
    });
    Ok(embeddable("application/json", status.to_string()))
}

/// A badge with the bot's name and state.
#[derive(Template)]
#[template(path = "badge.svg")]
struct Badge<'a> {
    name: &'a str,
    state: &'static str,
    colour: &'static str,
    /// Widths of the two halves, in pixels.
    left: usize,
    right: usize,
}

/// Serves the badge.
pub(crate) async fn badge(Exchange { context, .. }: Exchange) -> Answer {
    context.projections.read(Kind::Cluster).await?;
    let state = health(&context).ok_or_else(not_loaded)?.state;
    let name = context.settings.name.as_str();
    // Text is stretched to these widths, so no font can overflow them.
    let width = |text: &str| text.chars().count() * 7 + 16;
    let badge = Badge {
        name,
        state: state.as_str(),
        colour: match state {
            ShardState::Ok => "#1a7f37",
            ShardState::Unknown | ShardState::Slow | ShardState::Stale => "#8a5a00",
            ShardState::Missing | ShardState::Silent => "#b3142b",
        },
        left: width(name),
        right: width(state.as_str()),
    };
    Ok(embeddable("image/svg+xml", page::render(&badge)?))
}
