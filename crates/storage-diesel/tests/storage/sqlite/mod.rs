//! SQLite.

mod backup;
mod changes;
mod conformance;
mod faults;
mod folder;
mod gathering;
mod inspection;
mod migrations;
mod replaced;
mod settings;
mod syncing;
mod torn;

crate::shared::shared_tests!(crate::sqlite::folder::Folder);
