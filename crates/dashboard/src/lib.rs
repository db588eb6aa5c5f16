//! Companion's dashboard: a ready-made site on its own listener.
//!
//! A third way into the hexagon, beside the public and the management API: it calls the same use cases and renders the
//! results as pages. It knows no adapter. Pages are rendered on the server and complete without scripts; a small script
//! keeps them live. Stylesheet, icon and script are embedded in the program. Nothing is loaded from elsewhere except
//! pictures of the platform.
//!
//! | module | contents, from the lowest layer up |
//! |---|---|
//! | `appearance`, `asset`, `date`, `cookie`, `pending_sign_in` | logo, accent and words of the operator; style, icon and script; dates in words; cookies and signatures; a sign-in in progress |
//! | `view` | live pages: change notifications, limits, and content that is rendered once for all of its streams |
//! | `site` | what every page shows |
//! | `page`, `failure` | pages as responses, with their headers; error pages |
//! | `context` | settings; requests and the context of their handlers |
//! | `bot` | the status of the bot in words |
//! | `visitor`, `form` | pages that need a session; forms with CSRF protection, and that of the theme |
//! | `home`, `status` | public pages |
//! | `sign_in` | sign-in through the platform |
//! | `permission_text`, `reason` | permissions in people's words; reasons of permissions, as sentences with roles |
//! | `hub`, `guild_list`, `devices`, `my_data` | pages of signed-in users |
//! | `settings` | settings of a guild as forms, and their history |
//! | `live` | notifies open pages of changes |
//! | `app` | the table of paths; the application |
//!
//! To add a page, write its handler and view in a file of its own and its template in `templates`, then list it in
//! `app`.
#![warn(missing_docs)]

mod app;
mod appearance;
mod asset;
mod bot;
mod context;
mod cookie;
mod date;
mod devices;
mod failure;
mod form;
mod guild_list;
mod home;
mod hub;
mod live;
mod my_data;
mod page;
mod pending_sign_in;
mod permission_text;
mod reason;
mod settings;
mod sign_in;
mod site;
mod status;
mod view;
mod visitor;

pub use self::{
    app::{Dashboard, serve_dashboard},
    appearance::{Accent, AccentError, Appearance, Feature, Logo, LogoError},
    context::{DashboardSettings, PlatformApplication},
    cookie::SigningKeys,
    permission_text::{PermissionText, PermissionTexts},
};
