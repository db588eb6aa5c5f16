//! SQLite.

#[path = "../shared/ages.rs"]
mod ages;
mod backup;
mod changes;
mod conformance;
#[path = "../shared/damage.rs"]
mod damage;
mod faults;
mod folder;
mod gathering;
mod inspection;
mod migrations;
#[path = "../shared/preview.rs"]
mod preview;
mod replaced;
mod syncing;
mod torn;
#[path = "../shared/unreadable.rs"]
mod unreadable;

use crate::sample;
use folder::Folder as Place;
