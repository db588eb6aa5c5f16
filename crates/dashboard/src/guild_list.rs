//! `/guilds`: the user's guilds that have the bot, with a search and filters if there are many, and those that it can be
//! invited to.

use crate::{
    bot::counted,
    context::DashboardContext,
    form::parameter,
    guilds::{GuildView, listing},
    page::{self, Frame, Here},
    site::{Picture, Site},
    visitor::{Visitor, signed_in},
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::{model::NamedGuild, policy::GuildRole, rules::ListedGuild, usecase::GuildListing};
use companion_http::ApiError;
use url::form_urlencoded::Serializer;

/// Number of guilds above which there are a search and filters.
const SEARCH_ABOVE: usize = 8;
/// Number of guilds above which they are shown as rows instead of cards.
const ROWS_ABOVE: usize = 20;
/// Maximum number of rows on a page, so that it stays small.
const MAX_ROWS: usize = 80;
/// Maximum number of guilds without the bot on a page.
const MAX_INVITES: usize = 20;

#[derive(Template)]
#[template(path = "guilds.html")]
struct GuildsPage<'a> {
    frame: Frame<'a>,
    /// Number of all guilds.
    total: usize,
    /// Number of guilds that are found, in words.
    found: String,
    search: Option<SearchView>,
    guilds: Vec<GuildView>,
    are_rows: bool,
    /// Addresses of the neighbouring pages.
    previous: Option<String>,
    next: Option<String>,
    invites: Invites,
}

/// Guilds that the user manages and that lack the bot.
struct Invites {
    /// Number of all of them.
    count: usize,
    /// The first of those that match the search.
    shown: Vec<InviteView>,
}

struct InviteView {
    name: String,
    picture: Picture,
    /// The invite link. `None` if none is configured.
    href: Option<String>,
}

impl Invites {
    fn new(listing: &GuildListing, query: &Query, site: &Site) -> Self {
        let list = listing.listing.list().map(|list| list.without_bot.as_slice()).unwrap_or_default();
        // The bot may have joined since the list was fetched.
        let mut without: Vec<_> =
            list.iter().filter(|named| listing.listing.seen(named.guild).is_none()).collect();
        without.sort_by(|one, other| one.name.cmp(&other.name));
        let matching = without.iter().filter(|named| query.matches(named.name.as_str()));
        Self {
            count: without.len(),
            shown: matching.take(MAX_INVITES).map(|named| InviteView::new(named, site)).collect(),
        }
    }
}

impl InviteView {
    fn new(named: &NamedGuild, site: &Site) -> Self {
        let icon = named.icon.as_ref().map(ToString::to_string);
        let icon = icon.unwrap_or_else(|| site.pictures.server.default_picture(named.guild.get()));
        Self {
            name: named.name.to_string(),
            picture: site.pictures.picture(&icon, named.name.as_str()),
            href: site.invite_to(named.guild),
        }
    }
}

struct SearchView {
    query: Query,
    filters: Vec<FilterView>,
}

struct FilterView {
    name: &'static str,
    count: usize,
    href: String,
    is_chosen: bool,
}

/// What of the list is shown.
#[derive(Clone, PartialEq, Eq)]
struct Query {
    /// Text that names contain.
    text: String,
    filter: Filter,
    /// Counted from 0.
    page: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filter {
    All,
    Owner,
    NotSetUp,
    Premium,
}

impl Filter {
    const ALL: [Self; 4] = [Self::All, Self::Owner, Self::NotSetUp, Self::Premium];

    const fn name(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Owner => "Owner",
            Self::NotSetUp => "Not set up",
            Self::Premium => "Premium",
        }
    }

    /// Returns its value in an address; empty for all guilds.
    const fn word(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Owner => "owner",
            Self::NotSetUp => "not-set-up",
            Self::Premium => "premium",
        }
    }

    fn admits(self, listed: &ListedGuild) -> bool {
        match self {
            Self::All => true,
            Self::Owner => listed.role == GuildRole::Owner,
            Self::NotSetUp => !listed.guild.setup,
            Self::Premium => listed.plus.is_some(),
        }
    }
}

impl Query {
    fn of(request: &HttpRequest) -> Self {
        let given = |name| parameter(request, name).unwrap_or_default();
        let show = given("show");
        Self {
            text: given("q").trim().to_owned(),
            filter: Filter::ALL.into_iter().find(|filter| filter.word() == show).unwrap_or(Filter::All),
            page: given("page").parse().map_or(0, |number: usize| number.saturating_sub(1)),
        }
    }

    fn is_everything(&self) -> bool {
        self.text.is_empty() && self.filter == Filter::All
    }

    fn matches(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.text.to_lowercase())
    }

    fn href(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        let number = self.page + 1;
        for (name, value) in [("q", self.text.as_str()), ("show", self.filter.word())] {
            if !value.is_empty() {
                pairs.append_pair(name, value);
            }
        }
        if number > 1 {
            pairs.append_pair("page", &number.to_string());
        }
        let pairs = pairs.finish();
        if pairs.is_empty() { "/guilds".to_owned() } else { format!("/guilds?{pairs}") }
    }
}

pub(crate) async fn list(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        Ok(page::live(&render(&context, &request, &visitor).await?))
    })
    .await
}

/// Renders the page of the user's guilds.
pub(crate) async fn render(
    context: &DashboardContext,
    request: &HttpRequest,
    visitor: &Visitor,
) -> Result<String, ApiError> {
    let listing = listing(context, request, visitor.session.user).await?;
    let (all, mut query) = (listing.guilds(), Query::of(request));
    let named: Vec<_> = all.iter().filter(|listed| query.matches(listed.guild.name.as_str())).collect();
    let found: Vec<_> = named.iter().filter(|listed| query.filter.admits(listed)).collect();
    // A page beyond the last one is the last one.
    query.page = query.page.min(found.len().saturating_sub(1) / MAX_ROWS);
    let first = query.page * MAX_ROWS;
    let at = |page: usize| Query { page, ..query.clone() }.href();
    let frame = context.frame("Your guilds", Here::Guilds, visitor.navigation(context));
    page::render(&GuildsPage {
        frame,
        invites: Invites::new(&listing, &query, &context.site),
        total: all.len(),
        found: counted(found.len(), "guild"),
        guilds: found
            .iter()
            .skip(first)
            .take(MAX_ROWS)
            .map(|listed| GuildView::new(listed, &context.site.pictures))
            .collect(),
        are_rows: all.len() > ROWS_ABOVE,
        previous: (first > 0).then(|| at(query.page - 1)),
        next: (found.len() > first + MAX_ROWS).then(|| at(query.page + 1)),
        search: (all.len() > SEARCH_ABOVE || !query.is_everything()).then(|| SearchView {
            filters: Filter::ALL
                .map(|filter| FilterView {
                    name: filter.name(),
                    count: named.iter().filter(|listed| filter.admits(listed)).count(),
                    href: Query { filter, page: 0, ..query.clone() }.href(),
                    is_chosen: filter == query.filter,
                })
                .into_iter()
                // Filters that find nothing are left out.
                .filter(|filter| filter.count > 0 || filter.is_chosen)
                .collect(),
            query: query.clone(),
        }),
    })
}
