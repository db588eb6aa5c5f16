//! The management API.

mod audit;
mod change;
mod cluster;
pub(crate) mod guesses;
mod health;
mod key;
mod look_up;
mod metrics;
mod mistake;
mod path;
mod reference;
pub(crate) mod sample;
mod session;
mod stream;
mod stream_socket;
mod visible;

use actix_web::test::TestRequest;
use serde_json::Value;

pub(crate) fn put(path: &str, body: &Value) -> TestRequest {
    TestRequest::put().uri(path).set_payload(body.to_string())
}

pub(crate) fn delete(path: &str) -> TestRequest {
    TestRequest::delete().uri(path)
}

fn sync(query: &str, lines: &[Value]) -> TestRequest {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    TestRequest::post().uri(&format!("/bot/sync{query}")).set_payload(text)
}
