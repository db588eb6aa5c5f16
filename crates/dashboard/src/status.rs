//! `/status`, `/status.json` and `/badge.svg`: the bot's health, notices and history, for people, programs and other
//! sites, which may embed the last two.

use crate::{
    bot::{BotView, Tone, health},
    context::{DashboardContext, Exchange},
    date::Date,
    page::{self, Answer, Frame, Here, Navigation},
    visitor::navigation,
};
use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
};
use askama::Template;
use companion_domain::{
    change::Kind,
    model::{Notice, NoticeKind, Period, PeriodSubject, Timestamp},
    rules::{Day, DayState, ShardState, days, in_words},
    usecase::Periods,
};
use companion_http::ApiError;
use serde_json::{Map, json};
use std::{cmp::Reverse, time::Duration};

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage<'a> {
    frame: Frame<'a>,
    bot: BotView,
    notices: Vec<NoticeView<'a>>,
    /// Class and text of each bar of the last 90 days.
    days: Vec<(&'static str, String)>,
    incidents: Vec<IncidentView>,
}

pub(crate) async fn show(exchange: Exchange) -> Answer {
    let visitor = navigation(&exchange, "/status").await;
    exchange.context.projections.read(Kind::Cluster).await?;
    Ok(page::live(&render(&exchange.context, visitor)?))
}

fn not_loaded() -> ApiError {
    ApiError::StorageUnavailable("the bot's reports are not loaded yet".into())
}

/// Renders the status page.
pub(crate) fn render(context: &DashboardContext, visitor: Navigation) -> Result<String, ApiError> {
    let bot = BotView::now(context).ok_or_else(not_loaded)?;
    let periods = context.projections.periods().ok_or_else(not_loaded)?;
    let notices = context.projections.notices().ok_or_else(not_loaded)?;
    let now = context.clock.now();
    page::render(&StatusPage {
        frame: context.frame("Status", Here::Status, visitor),
        bot,
        notices: NoticeView::current(&notices, now),
        days: days(periods.iter(), now).iter().map(|day| bar(day, now)).collect(),
        incidents: IncidentView::last(&periods, &notices, now),
    })
}

/// Number of incidents shown.
const INCIDENTS: usize = 10;

/// A notice that counts, or planned maintenance.
struct NoticeView<'a> {
    notice: &'a Notice,
    tone: &'static str,
    label: &'static str,
    from: Date,
    until: Option<Date>,
    is_planned: bool,
}

impl<'a> NoticeView<'a> {
    /// Returns the notices that count now, and planned maintenance. Incidents come first.
    fn current(notices: &'a [Notice], now: Timestamp) -> Vec<Self> {
        let view = |notice: &'a Notice| {
            let is_planned = notice.from > now;
            let (tone, label) = match notice.kind {
                NoticeKind::Incident => ("bad", "Incident"),
                NoticeKind::Maintenance if is_planned => ("mixed", "Planned maintenance"),
                NoticeKind::Maintenance => ("mixed", "Maintenance"),
                NoticeKind::News => ("", "News"),
            };
            let (from, until) = (Date::of(notice.from, now), notice.until.map(|until| Date::of(until, now)));
            Self { notice, tone, label, from, until, is_planned }
        };
        let open = notices.iter().filter(|notice| !notice.is_over(now)).map(view);
        let is_shown = |view: &Self| !view.is_planned || view.notice.kind == NoticeKind::Maintenance;
        let mut current: Vec<_> = open.filter(is_shown).collect();
        current.sort_by_key(|view| (view.is_planned, view.notice.kind));
        current
    }
}

fn bar(day: &Day, now: Timestamp) -> (&'static str, String) {
    let (class, what) = match day.state {
        DayState::Ok => ("good", "no outage".to_owned()),
        DayState::Partial => ("mixed", format!("partial outage, {}", in_words(day.partial))),
        DayState::Down => ("bad", format!("outage, {}", in_words(day.down))),
        DayState::Unknown => ("", "unknown".to_owned()),
    };
    (class, format!("{}: {what}", Date::of(day.start, now).day()))
}

/// An entry of the list of incidents.
struct IncidentView {
    title: String,
    text: String,
    from: Date,
    /// How long it lasted. `None` if it goes on.
    lasted: Option<String>,
}

impl IncidentView {
    /// Returns the last incidents, the latest first: of the bot, of single clusters outside of those, and past notices.
    fn last(periods: &Periods, notices: &[Notice], now: Timestamp) -> Vec<Self> {
        let end = |period: &Period| period.ended_at.unwrap_or(now);
        let incidents: Vec<_> =
            periods.iter().filter(|period| period.subject == PeriodSubject::Incident).collect();
        let is_part = |period: &Period| {
            incidents.iter().any(|whole| whole.began_at <= end(period) && period.began_at <= end(whole))
        };
        let view = |from: Timestamp, until: Option<Timestamp>, title, text| {
            let lasted = until.map(|until| in_words(until.since(from).max(Duration::from_secs(1))));
            (Reverse(from), Self { title, text, from: Date::of(from, now), lasted })
        };
        let mut all = Vec::new();
        for period in periods.iter() {
            let title = match &period.subject {
                PeriodSubject::Incident => period.title().to_owned(),
                PeriodSubject::Cluster(cluster) if !is_part(period) => {
                    format!("Cluster {cluster} was silent")
                }
                _ => continue,
            };
            all.push(view(period.began_at, period.ended_at, title, String::new()));
        }
        let is_incident = |notice: &&Notice| notice.kind != NoticeKind::News && notice.is_over(now);
        for notice in notices.iter().filter(is_incident) {
            all.push(view(notice.from, notice.until, notice.title.to_string(), notice.text.to_string()));
        }
        all.sort_by_key(|(from, _)| *from);
        all.into_iter().take(INCIDENTS).map(|(_, incident)| incident).collect()
    }
}

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
        colour: match Tone::of(state) {
            Tone::Good => "#1a7f37",
            Tone::Mixed => "#8a5a00",
            Tone::Bad => "#b3142b",
        },
        left: width(name),
        right: width(state.as_str()),
    };
    Ok(embeddable("image/svg+xml", page::render(&badge)?))
}
