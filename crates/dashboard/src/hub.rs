//! What the pages of a guild begin with, and `/guilds/{guild}/permissions`: what the user may do there.

use crate::{
    bot::{grouped, health},
    context::DashboardContext,
    guilds::{GuildView, listed},
    page::{self, Answer, Frame, Here},
    piece::Piece,
    reason::PermissionsView,
    visitor::Visitor,
};
use askama::Template;
use companion_domain::{model::GuildId, policy::Permission, rules::ListedGuild};
use companion_http::ApiError;

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
    pub(crate) steps: Vec<Step>,
    /// Whether it is shown in full: the bot cannot be used yet.
    pub(crate) is_open: bool,
}

pub(crate) struct Step {
    pub(crate) is_done: bool,
    pub(crate) title: String,
    /// How it is done.
    pub(crate) about: &'static str,
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
        let step = |is_done, title: String, about| Step { is_done, title, about };
        let mut steps = vec![
            step(true, format!("Invite {}", context.settings.name), ""),
            step(
                guild.setup,
                "Run its set-up".to_owned(),
                "Use the set-up command of the bot in this guild.",
            ),
            step(
                guild.bindings.iter().next().is_some(),
                "Choose roles for your team".to_owned(),
                "Tell the bot which roles moderate and administrate. Their members can then sign in here, too.",
            ),
        ];
        if context.wordings.shows(Permission::ErlcLinked) {
            let about = "Only if you have one: the commands of the game server work once it is linked.";
            steps.push(step(guild.linked, "Link your game server".to_owned(), about));
        }
        let is_left =
            !steps.iter().all(|step| step.is_done) && permissions.contains(Permission::ManageServer);
        (is_left || !guild.setup).then_some(Self { steps, is_open: !guild.setup })
    }

    /// Returns the number of steps that are done.
    pub(crate) fn done(&self) -> usize {
        self.steps.iter().filter(|step| step.is_done).count()
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
