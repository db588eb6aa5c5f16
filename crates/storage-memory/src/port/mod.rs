//! The ports, one thin implementation each.

mod block_list;
mod bot_telemetry;
mod change_feed;
mod feedback;
mod grants;
mod guilds;
mod health;
mod listings;
mod platform_pauses;
mod sessions;
mod sign_ins;
mod spent_codes;
mod staff;
mod subscriptions;
mod team;
mod world;
