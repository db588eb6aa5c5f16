//! `/guilds`: the user's guilds that have the bot, with a search and filters if there are many, and those that it can be
//! invited to.

use crate::{
    bot::counted,
    context::Exchange,
    hub::{GuildView, listing},
    page::{self, Answer, Frame, Here},
    site::{Picture, Site},
    visitor::Visitor,
};
use askama::Template;
use companion_domain::{
    model::{Name, NamedGuild},
    policy::GuildRole,
    rules::ListedGuild,
    usecase::GuildListing,
};
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
    /// What is searched for, and the filters.
    search: Option<(Query, Vec<FilterView>)>,
    guilds: Vec<GuildView<'a>>,
    are_rows: bool,
    /// Addresses of the neighbouring pages.
    previous: Option<String>,
    next: Option<String>,
    /// Number of guilds that the user manages and that lack the bot.
    without_bot: usize,
    /// The first of those that match the search: name, picture, and the invite link if one is configured.
    invites: Vec<(&'a Name, Picture, Option<String>)>,
}

/// A filter with the number of guilds, its address, and whether it is chosen.
type FilterView = (&'static Filter, usize, String, bool);

/// Returns the guilds that the user manages and that lack the bot, by name.
fn without_bot(listing: &GuildListing) -> Vec<&NamedGuild> {
    let list = listing.listing.list().map(|list| list.without_bot.as_slice()).unwrap_or_default();
    // The bot may have joined since the list was fetched.
    let mut without: Vec<_> =
        list.iter().filter(|named| listing.listing.seen(named.guild).is_none()).collect();
    without.sort_by(|one, other| one.name.cmp(&other.name));
    without
}

fn invite<'a>(named: &'a NamedGuild, site: &Site) -> (&'a Name, Picture, Option<String>) {
    let icon = named.icon.as_ref().map(ToString::to_string);
    let icon = icon.unwrap_or_else(|| site.pictures.server.default_picture(named.guild.get()));
    (&named.name, site.pictures.picture(&icon, named.name.as_str()), site.invite_to(named.guild))
}

/// What of the list is shown.
#[derive(Clone)]
struct Query {
    /// Text that names contain.
    text: String,
    filter: &'static Filter,
    /// Counted from 0.
    page: usize,
}

struct Filter {
    name: &'static str,
    /// Its value in an address; empty for all guilds.
    word: &'static str,
    admits: fn(&ListedGuild) -> bool,
}

/// Shows all guilds.
const NO_FILTER: Filter = Filter { name: "All", word: "", admits: |_| true };
static FILTERS: [Filter; 4] = [
    NO_FILTER,
    Filter { name: "Owner", word: "owner", admits: |listed| listed.role == GuildRole::Owner },
    Filter { name: "Not set up", word: "not-set-up", admits: |listed| !listed.guild.setup },
    Filter { name: "Premium", word: "premium", admits: |listed| listed.plus.is_some() },
];

impl Query {
    fn of(exchange: &Exchange) -> Self {
        let given = |name| exchange.parameter(name).unwrap_or_default();
        let show = given("show");
        Self {
            text: given("q").trim().to_owned(),
            filter: FILTERS.iter().find(|filter| filter.word == show).unwrap_or(&NO_FILTER),
            page: given("page").parse().map_or(0, |number: usize| number.saturating_sub(1)),
        }
    }

    fn is_everything(&self) -> bool {
        self.text.is_empty() && self.filter.word.is_empty()
    }

    fn matches(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.text.to_lowercase())
    }

    fn href(&self) -> String {
        let page = if self.page > 0 { (self.page + 1).to_string() } else { String::new() };
        let pairs = [("q", self.text.as_str()), ("show", self.filter.word), ("page", page.as_str())];
        let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let pairs = Serializer::new(String::new()).extend_pairs(given).finish();
        if pairs.is_empty() { "/guilds".to_owned() } else { format!("/guilds?{pairs}") }
    }
}

pub(crate) async fn list(visitor: Visitor) -> Answer {
    Ok(page::live(&render(&visitor).await?))
}

/// Renders the page of the user's guilds.
pub(crate) async fn render(visitor: &Visitor) -> Result<String, ApiError> {
    let context = &visitor.exchange.context;
    let listing = listing(visitor).await?;
    let (all, mut query) = (listing.guilds(), Query::of(&visitor.exchange));
    let named: Vec<_> = all.iter().filter(|listed| query.matches(listed.guild.name.as_str())).collect();
    let found: Vec<_> = named.iter().filter(|listed| (query.filter.admits)(listed)).collect();
    // A page beyond the last one is the last one.
    query.page = query.page.min(found.len().saturating_sub(1) / MAX_ROWS);
    let first = query.page * MAX_ROWS;
    let at = |page: usize| Query { page, ..query.clone() }.href();
    let shown = found.iter().skip(first).take(MAX_ROWS);
    let filters = FILTERS.iter().map(|filter| {
        let count = named.iter().filter(|listed| (filter.admits)(listed)).count();
        let href = Query { filter, page: 0, ..query.clone() }.href();
        (filter, count, href, filter.word == query.filter.word)
    });
    let without_bot = without_bot(&listing);
    let matching = without_bot.iter().filter(|named| query.matches(named.name.as_str())).take(MAX_INVITES);
    page::render(&GuildsPage {
        frame: context.frame("Your guilds", Here::Guilds, visitor.navigation()),
        without_bot: without_bot.len(),
        invites: matching.map(|named| invite(named, &context.site)).collect(),
        total: all.len(),
        found: counted(found.len(), "guild"),
        guilds: shown.map(|listed| GuildView::new(listed, &context.site.pictures)).collect(),
        are_rows: all.len() > ROWS_ABOVE,
        previous: (first > 0).then(|| at(query.page - 1)),
        next: (found.len() > first + MAX_ROWS).then(|| at(query.page + 1)),
        // Filters that find nothing are left out.
        search: (all.len() > SEARCH_ABOVE || !query.is_everything()).then(|| {
            (query.clone(), filters.filter(|(_, count, _, is_chosen)| *count > 0 || *is_chosen).collect())
        }),
    })
}
