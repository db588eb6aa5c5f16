//! Both APIs as clients see them: in process or over sockets, over a store that can fail.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an unexpected value fails the test"
)]
#![expect(missing_docs, reason = "for our own tests; most names are self-explanatory")]

pub mod captured_log;
pub mod client;
pub mod sample;
pub mod service;

/// Requests of the management API.
pub mod request {
    use actix_web::test::TestRequest;
    use serde_json::Value;

    /// Returns a PUT request with this body.
    pub fn put(path: &str, body: &Value) -> TestRequest {
        TestRequest::put().uri(path).set_payload(body.to_string())
    }

    /// Returns a DELETE request.
    pub fn delete(path: &str) -> TestRequest {
        TestRequest::delete().uri(path)
    }

    /// Returns a sync request with these lines.
    pub fn sync(query: &str, lines: &[Value]) -> TestRequest {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        TestRequest::post().uri(&format!("/bot/sync{query}")).set_payload(text)
    }
}
