//! The table of paths. The routes and the metrics are made from it.

use crate::{asset, devices, guild, guilds, home, live, my_data, sign_in, status, team};
use actix_web::Resource;
use companion_http::routing::reading;

/// A path, and what answers there.
pub(crate) type Route = (&'static str, fn(&'static str) -> Resource);

/// All of them. Of two that match the same path the first one answers.
pub(crate) const ROUTES: [Route; 17] = [
    ("/", |path| reading(path, home::show)),
    ("/team", |path| reading(path, team::show)),
    ("/status", |path| reading(path, status::show)),
    ("/guilds", |path| reading(path, guilds::list)),
    ("/guilds/{guild}", |path| reading(path, guild::show)),
    ("/devices", |path| reading(path, devices::list)),
    ("/devices/end", devices::end_resource),
    ("/devices/end-all", devices::end_all_resource),
    ("/my-data", |path| reading(path, my_data::show)),
    ("/my-data/download", |path| reading(path, my_data::download)),
    ("/my-data/forget", my_data::forget_resource),
    ("/forgotten", |path| reading(path, my_data::forgotten)),
    ("/sign-in", |path| reading(path, sign_in::begin)),
    ("/callback", |path| reading(path, sign_in::finish)),
    ("/sign-out", sign_in::sign_out_resource),
    ("/live", |path| reading(path, live::serve)),
    (asset::PATH, |path| reading(path, asset::serve)),
];
