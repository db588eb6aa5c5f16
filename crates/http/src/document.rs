//! The public API's part of the OpenAPI document. `DELETE /auth` is not in it, because it is switched off by default.

use crate::{
    openapi::Enveloped,
    public::{auth, feedback, guilds, status, team},
};
use utoipa::OpenApi;

/// The five operations and the shapes of their answers.
#[derive(OpenApi)]
#[openapi(
    paths(status::report, auth::sign_in, guilds::list, feedback::pick, team::show),
    modifiers(&Enveloped)
)]
pub struct PublicDocument;
