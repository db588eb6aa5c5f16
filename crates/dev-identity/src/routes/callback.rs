//! `GET /callback`: shows the code of a sign-in to a person, where no site waits for it.

use super::page;
use crate::{platform::Parameters, state::ServerState};
use actix_web::{HttpRequest, HttpResponse, web};

pub(super) async fn serve(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    let query = Parameters::read(request.query_string().as_bytes()).ok();
    let parameter = |name: &str| query.as_ref().and_then(|query| query.get(name));
    match (parameter("code").filter(|code| is_code(code)), parameter("error")) {
        (Some(code), _) => page::code(code, shared.command.as_deref()),
        (None, Some("access_denied")) => {
            page::mistake("Nobody signed in, as you chose. Go back to pick someone.")
        }
        (None, _) => page::mistake("There is no code here. Begin at the sign-in page."),
    }
}

/// Whether this is what a code looks like. The page puts it into a command, so nothing else gets that far.
fn is_code(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=256).contains(&text.len()) && text.bytes().all(plain)
}
