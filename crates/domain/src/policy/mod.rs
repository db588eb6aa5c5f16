//! Authorisation: a pure function from facts to the twenty permissions, with the reason for each.
//!
//! [`Permission`] names them and [`Fact`] lists what they depend on. [`decide`] applies the table in `rules.rs`, and
//! [`GuildRole`] summarises the result.

mod permission;
mod rules;

pub use self::{
    permission::{GuildRole, Permission, PermissionSet, RoleKey, StaffPermission, StaffPermissions},
    rules::{Decision, Fact, FactSet, Source, decide, facts_granting},
};
