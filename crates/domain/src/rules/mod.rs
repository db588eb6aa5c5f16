//! Rules other than permissions and sessions: listings and their order, what permissions need, random picks, and the bot's status.

mod days;
mod health;
mod listing;
mod needs;
mod pick;
mod status;

pub use self::{
    days::{DAYS, Day, DayState, days},
    health::{BotHealth, ShardState},
    listing::{ListedGuild, NotListed, PlatformView, UserFacts, Verdict, judge, list_guilds, plus_of},
    needs::{Needs, Words},
    pick::{Draw, Seed, sample_few},
    status::{BotStatus, LastHeard, Uptime, bot_status, in_words},
};
