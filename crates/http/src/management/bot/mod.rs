//! What the bot feeds, one file for each part of its world.

mod blocked;
mod clusters;
mod feedback;
mod guilds;
mod members;
mod plus;
mod staff;
mod sync;
mod team;

use super::Shared;
use crate::{envelope, error::ApiError, wire};
use actix_web::{HttpResponse, web::ServiceConfig};
use companion_domain::change::Tally;

/// Adds the bot's paths.
pub(super) fn configure(config: &mut ServiceConfig) {
    config
        .service(guilds::resource())
        .service(members::resource())
        .service(plus::resource())
        .service(staff::resource())
        .service(blocked::resource())
        .service(feedback::resource())
        .service(team::resource())
        .service(clusters::resource())
        .service(sync::resource());
}

/// The answer to a change: what it did.
fn changed(tally: Tally) -> Result<HttpResponse, ApiError> {
    let message = if tally == Tally::NOTHING { "Nothing was different." } else { "The change is visible." };
    Ok(super::success(envelope::success(message, wire::Changes::from(tally))?))
}
