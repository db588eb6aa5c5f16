//! What the pages of guilds share, and `/guilds/{guild}/permissions`: what the user may do there.

use crate::{
    bot::{counted, grouped, health},
    context::{DashboardContext, Exchange},
    failure::LeftGuild,
    page::{self, Answer, Frame, Here},
    reason::{PermissionsView, Piece},
    site::{Picture, Pictures},
    visitor::Visitor,
};
use actix_web::HttpMessage as _;
use askama::Template;
use companion_domain::{model::GuildId, policy::Permission, rules::ListedGuild, usecase::GuildListing};
use companion_http::{ApiError, guilds_of};

/// A guild, as shown on a card.
pub(crate) struct GuildView<'a> {
    pub(crate) listed: &'a ListedGuild,
    pub(crate) picture: Picture,
}

impl<'a> GuildView<'a> {
    pub(crate) fn new(listed: &'a ListedGuild, pictures: &Pictures) -> Self {
        let icon = listed.icon(&pictures.server);
        Self { listed, picture: pictures.picture(&icon, listed.guild.name.as_str()) }
    }

    /// Returns the number of members, in words.
    pub(crate) fn members(&self) -> String {
        counted(self.listed.guild.members.get() as usize, "member")
    }
}

/// Returns the guild listing of a user.
pub(crate) async fn listing(visitor: &Visitor) -> Result<GuildListing, ApiError> {
    let Exchange { context, request } = &visitor.exchange;
    let list_guilds = &context.use_cases.list_guilds;
    // Pages hold this future by value, and without optimisation each caller holds several copies of it.
    Box::pin(guilds_of(visitor.user(), list_guilds, &context.storage_limiter, &context.list_limiter, request))
        .await
}

/// Returns a guild of the user's list. Others are not found, whether or not they exist. If the bot has left it, the error
/// page says so.
pub(crate) async fn listed(visitor: &Visitor, guild: GuildId) -> Result<ListedGuild, ApiError> {
    let listing = listing(visitor).await?;
    let listed = listing.guilds().into_iter().find(|listed| listed.guild.id == guild);
    let membership = listing.listing.membership(guild);
    if let Some(membership) = membership.filter(|_| listing.listing.seen(guild).is_none()) {
        let Exchange { context, request } = &visitor.exchange;
        let list = listing.listing.list().map(|list| list.without_bot.as_slice()).unwrap_or_default();
        let named = list.iter().find(|named| named.guild == guild);
        request.extensions_mut().insert(LeftGuild {
            name: named.map(|named| named.name.to_string()),
            invite: context.site.invite_to(guild).filter(|_| membership.is_managed()),
        });
    }
    listed.ok_or(ApiError::NotFound)
}

/// What the pages of a guild begin with.
pub(crate) struct GuildHead<'a> {
    pub(crate) guild: GuildView<'a>,
    /// Facts about the guild, with their names.
    pub(crate) tiles: Vec<(&'static str, String)>,
    /// `None` if nothing is left to do for the user.
    pub(crate) checklist: Option<Checklist>,
    /// The page among those of the guild. `None` if it is the only one, before settings are published.
    pub(crate) here: Option<Tab>,
}

/// A page of a guild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Settings,
    Permissions,
    History,
}

/// The steps to a guild in which everything of the bot works.
pub(crate) struct Checklist {
    /// Whether each is done, what it is, and how it is done.
    pub(crate) steps: Vec<(bool, String, &'static str)>,
    /// Whether it is shown in full: the bot cannot be used yet.
    pub(crate) is_open: bool,
}

impl<'a> GuildHead<'a> {
    pub(crate) fn new(listed: &'a ListedGuild, context: &DashboardContext, here: Option<Tab>) -> Self {
        let premium = if listed.plus.is_some() { "Active" } else { "Not active" };
        let mut tiles = vec![
            ("Members", grouped(listed.guild.members.get() as usize)),
            ("Your role", listed.role.to_string()),
            ("Premium", premium.to_owned()),
        ];
        let health = health(context);
        if let Some((shard, state)) = health.and_then(|health| health.shard_of(listed.guild.id)) {
            tiles.push(("Shard", format!("{shard}, {}", state.as_str())));
        }
        let guild = GuildView::new(listed, &context.site.pictures);
        Self { guild, tiles, checklist: Checklist::new(listed, context), here }
    }

    /// Returns name, path below that of the guild, and whether it is shown, of each page of the guild.
    pub(crate) fn tabs(&self) -> Vec<(&'static str, &'static str, bool)> {
        let all = [
            (Tab::Settings, "Settings", ""),
            (Tab::Permissions, "Permissions", "/permissions"),
            (Tab::History, "History", "/history"),
        ];
        let tabs = |here| all.map(|(tab, name, path)| (name, path, tab == here)).to_vec();
        self.here.map(tabs).unwrap_or_default()
    }
}

impl Checklist {
    /// Returns the steps while one is left that the user can make, or while the bot is not set up.
    fn new(listed: &ListedGuild, context: &DashboardContext) -> Option<Self> {
        let ListedGuild { guild, permissions, .. } = listed;
        let mut steps = vec![
            (true, format!("Invite {}", context.settings.name), ""),
            (guild.setup, "Run its set-up".to_owned(), "Use the set-up command of the bot in this guild."),
            (
                guild.bindings.iter().next().is_some(),
                "Choose roles for your team".to_owned(),
                "Tell the bot which roles moderate and administrate. Their members can then sign in here, too.",
            ),
        ];
        if context.wordings.shows(Permission::ErlcLinked) {
            let about = "Only if you have one: the commands of the game server work once it is linked.";
            steps.push((guild.linked, "Link your game server".to_owned(), about));
        }
        let is_left =
            !steps.iter().all(|(is_done, ..)| *is_done) && permissions.contains(Permission::ManageServer);
        (is_left || !guild.setup).then_some(Self { steps, is_open: !guild.setup })
    }

    /// Returns the number of steps that are done.
    pub(crate) fn done(&self) -> usize {
        self.steps.iter().filter(|(is_done, ..)| *is_done).count()
    }
}

#[derive(Template)]
#[template(path = "permissions.html")]
struct PermissionsPage<'a> {
    frame: Frame<'a>,
    head: GuildHead<'a>,
    permissions: PermissionsView<'a>,
}

/// Shows what the user may do in a guild.
pub(crate) async fn permissions(visitor: Visitor) -> Answer {
    Ok(page::live(&render_permissions(&visitor, visitor.exchange.guild()?).await?))
}

/// Renders what the user may do in a guild.
pub(crate) async fn render_permissions(visitor: &Visitor, guild: GuildId) -> Result<String, ApiError> {
    let (exchange, context) = (&visitor.exchange, &visitor.exchange.context);
    let listed = listed(visitor, guild).await?;
    let explanation = exchange.read(context.use_cases.explain.explain(visitor.user(), guild)).await?;
    let schema = exchange.read(context.use_cases.settings.store.schema()).await?;
    let has_settings = schema.is_some_and(|schema| !schema.sections().is_empty());
    page::render(&PermissionsPage {
        frame: context.frame(listed.guild.name.as_str(), Here::Guilds, visitor.navigation()),
        head: GuildHead::new(&listed, context, has_settings.then_some(Tab::Permissions)),
        permissions: PermissionsView::new(&explanation, &context.wordings),
    })
}
