//! SQLite.

mod backup;
mod changes;
mod conformance;
mod creating;
mod faults;
mod folder;
mod gathering;
mod inspection;
mod replaced;
mod syncs;
mod torn;

crate::shared::shared_tests!(crate::sqlite::folder::Folder);
