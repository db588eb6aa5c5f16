//! Settings of guilds: their forms, conflicts, what visitors see of them, and their history.

mod forms;
mod history;
mod shown;
pub(crate) mod stage;
