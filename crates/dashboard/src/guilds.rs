//! What all pages of guilds share.

use crate::{
    bot::counted,
    context::DashboardContext,
    failure::LeftGuild,
    site::{Picture, Pictures},
};
use actix_web::{HttpMessage as _, HttpRequest};
use companion_domain::{
    model::{GuildId, UserId},
    rules::ListedGuild,
    usecase::GuildListing,
};
use companion_http::{ApiError, guilds_of, routing};

/// A guild, as shown on a card.
pub(crate) struct GuildView {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) picture: Picture,
    pub(crate) role: &'static str,
    pub(crate) plus: bool,
    /// Number of members, in words.
    pub(crate) members: String,
    pub(crate) setup: bool,
}

impl GuildView {
    pub(crate) fn new(listed: &ListedGuild, pictures: &Pictures) -> Self {
        let ListedGuild { guild, role, plus, .. } = listed;
        Self {
            id: guild.id.to_string(),
            name: guild.name.to_string(),
            picture: pictures.picture(&listed.icon(&pictures.server), guild.name.as_str()),
            role: role.as_str(),
            plus: plus.is_some(),
            members: counted(guild.members.get() as usize, "member"),
            setup: guild.setup,
        }
    }
}

/// Returns the guild listing of a user.
pub(crate) async fn listing(
    context: &DashboardContext,
    request: &HttpRequest,
    user: UserId,
) -> Result<GuildListing, ApiError> {
    guilds_of(user, &context.use_cases.list_guilds, &context.storage_limiter, &context.list_limiter, request)
        .await
}

/// Returns the guild in the path.
pub(crate) fn guild_in(request: &HttpRequest) -> Result<GuildId, ApiError> {
    routing::parameter(request, "guild").parse().map_err(|_| ApiError::NotFound)
}

/// Returns a guild of the user's list. Others are not found, whether or not they exist. If the bot has left it, the error
/// page says so.
pub(crate) async fn listed(
    context: &DashboardContext,
    request: &HttpRequest,
    user: UserId,
    guild: GuildId,
) -> Result<ListedGuild, ApiError> {
    let listing = listing(context, request, user).await?;
    let listed = listing.guilds().into_iter().find(|listed| listed.guild.id == guild);
    let membership = listing.listing.membership(guild);
    if let Some(membership) = membership.filter(|_| listing.listing.seen(guild).is_none()) {
        let list = listing.listing.list().map(|list| list.without_bot.as_slice()).unwrap_or_default();
        let named = list.iter().find(|named| named.guild == guild);
        request.extensions_mut().insert(LeftGuild {
            name: named.map(|named| named.name.to_string()),
            invite: context.site.invite_to(guild).filter(|_| membership.is_managed()),
        });
    }
    listed.ok_or(ApiError::NotFound)
}
