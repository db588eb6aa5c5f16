//! Authorisation: a pure function from facts to the twenty permissions, with the reason for each.
//!
//! [`Permission`] names them and [`Fact`] lists what they depend on. [`decide`] applies the table in `rules.rs`, and
//! [`GuildRole`] summarises the result.

mod fact;
mod permission;
mod role;
mod rules;

pub use self::{
    fact::{Fact, FactSet},
    permission::{Permission, PermissionSet, RoleKey, StaffPermission, StaffPermissions},
    role::GuildRole,
    rules::{Decision, Source, decide, facts_granting},
};
