//! Companion's dashboard: a ready-made site, on a listener of its own.
//!
//! A third way into the hexagon, beside the public and the management API: it calls the same use cases, and shows what they
//! say as pages. It knows no adapter. Pages are rendered here and are complete without a script; a small one makes them live. Style, icon and script
//! are part of the program, and nothing is loaded from elsewhere but pictures of the platform.
//!
//! | module | what lives there, the deepest first |
//! |---|---|
//! | `asset`, `date`, `cookie`, `pending_sign_in`, `change_signal` | style, icon and script; dates in words; what browsers keep for us; a sign-in that has begun; that something changed |
//! | `places`, `view` | how many pages can be live; what a live page shows, rendered once for all of its streams |
//! | `site` | what every page shows |
//! | `page`, `failure` | a page as an answer, with its headers; errors as pages |
//! | `context` | what the dashboard is told, and what handlers work with |
//! | `bot` | how the bot is, in words |
//! | `visitor`, `form` | who looks; what changes something, and where it has to come from |
//! | `home`, `team`, `status` | pages for everyone |
//! | `sign_in` | to the platform and back |
//! | `reason`, `guilds`, `devices`, `my_data` | why a permission is granted; pages of signed-in users |
//! | `live` | tells open pages that they would be shown otherwise by now |
//! | `app` | the table of paths; all of it as one application |
//!
//! To add a page: write its handler and its view in a file of its own, its template in `templates`, and name it in `app`.
#![warn(missing_docs)]

mod app;
mod asset;
mod bot;
mod change_signal;
mod context;
mod cookie;
mod date;
mod devices;
mod failure;
mod form;
mod guilds;
mod home;
mod live;
mod my_data;
mod page;
mod pending_sign_in;
mod places;
mod reason;
mod sign_in;
mod site;
mod status;
mod team;
mod view;
mod visitor;

pub use self::{
    app::{Dashboard, serve_dashboard},
    context::{DashboardSettings, DashboardUseCases, PlatformApplication},
    cookie::SigningKeys,
};
