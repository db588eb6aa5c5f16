//! PostgreSQL.

#[path = "../shared/ages.rs"]
mod ages;
mod announcements;
mod conformance;
#[path = "../shared/damage.rs"]
mod damage;
mod failover;
mod faults;
mod lanes;
mod migrations;
mod moving;
#[path = "../shared/preview.rs"]
mod preview;
mod proxy;
mod schema;
mod syncing;
#[path = "../shared/unreadable.rs"]
mod unreadable;
mod uses;

use crate::sample;
use schema::Schema as Place;
