//! Who may do what: a pure function from facts to the twenty permissions, and the reason for each.
//!
//! [`Permission`] names them, [`Fact`] is everything that can count, [`decide`] applies the one table of rules in
//! `rules.rs`, and [`GuildRole`] sums the result up in one word.

mod fact;
mod permission;
mod role;
mod rules;

pub use self::{
    fact::{Fact, FactSet},
    permission::{Permission, PermissionSet, RoleKey, StaffPermission, StaffPermissions},
    role::GuildRole,
    rules::{Decision, Source, decide},
};
