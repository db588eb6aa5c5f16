//! What all pages of guilds share.

use crate::{
    bot::counted,
    context::Exchange,
    failure::LeftGuild,
    site::{Picture, Pictures},
    visitor::Visitor,
};
use actix_web::HttpMessage as _;
use companion_domain::{model::GuildId, rules::ListedGuild, usecase::GuildListing};
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
