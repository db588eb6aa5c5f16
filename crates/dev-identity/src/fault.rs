//! Kinds of faults, their schedule, and how a request meets one.

use crate::{Route, rate_limit};
use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    body::SizedStream,
    http::{StatusCode, header},
    web::Bytes,
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use socket2::{SockRef, Socket};
use std::{
    any::Any,
    collections::{HashMap, VecDeque},
    io::Write as _,
    net::Shutdown,
    time::Duration,
};

/// A kind of fault.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Reads the request and closes the connection without a response.
    Closed,
    /// Reads the request and never responds.
    Silent,
    /// Sends the response one byte at a time.
    Drip {
        /// The part that is slow.
        part: DripPart,
        /// The interval between two bytes.
        #[serde(rename = "every_ms", deserialize_with = "milliseconds")]
        every: Duration,
    },
    /// A status with a matching body.
    Status {
        /// Usually an error status.
        status: u16,
        /// The kind of body.
        body: ErrorBody,
    },
    /// The block page that a content delivery network shows a banned address.
    BanPage {
        /// 403 or 429.
        status: u16,
    },
    /// A rate limit response.
    Limited {
        /// The delay to announce, in seconds.
        retry_after: f64,
        /// Whether the limit is global.
        global: bool,
    },
    /// Success with a body that claims to be JSON but is not.
    NotJson,
    /// Success with JSON of another shape.
    WrongShape,
    /// Success with a body of this size.
    Huge {
        /// The size, in bytes.
        bytes: u64,
        /// Whether `Content-Length` announces it.
        announced: bool,
    },
    /// Success with a small compressed body that is huge when decompressed.
    Bomb,
    /// A redirect.
    Redirect {
        /// The target.
        to: String,
    },
    /// An OAuth error, such as `invalid_grant` or `invalid_client`.
    OauthError {
        /// The value of `error` in the response.
        error: String,
    },
    /// Success with a truncated body.
    Truncated,
    /// A given body.
    Body {
        /// The status; 200 by default.
        #[serde(default = "success")]
        status: u16,
        /// The body, sent as JSON.
        json: serde_json::Value,
    },
    /// Bytes that are not HTTP.
    Garbage,
}

/// The slow part of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DripPart {
    /// From the status line on.
    Head,
    /// Only the body.
    Body,
}

/// The body of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBody {
    /// The platform's own `{"message", "code"}`.
    Json,
    /// An HTML page.
    Html,
    /// No body.
    Empty,
}

/// A fault with its repetitions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PlannedFault {
    /// The kind of fault.
    #[serde(flatten)]
    pub(crate) fault: Fault,
    /// For this many calls; `None` until it is cleared.
    #[serde(default)]
    pub(crate) times: Option<u32>,
}

const fn success() -> u16 {
    200
}

fn milliseconds<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Duration, D::Error> {
    u64::deserialize(source).map(Duration::from_millis)
}

/// The planned faults of each route, in order.
#[derive(Debug, Default)]
pub(crate) struct Faults(pub(crate) HashMap<Route, VecDeque<PlannedFault>>);

impl Faults {
    /// Takes the fault for the next call of this route.
    pub(crate) fn next(&mut self, route: Route) -> Option<Fault> {
        let queue = self.0.get_mut(&route)?;
        while queue.front().is_some_and(|fault| fault.times == Some(0)) {
            queue.pop_front();
        }
        let fault = queue.front_mut()?;
        fault.times = fault.times.map(|times| times.saturating_sub(1));
        Some(fault.fault.clone())
    }
}

const JSON: &str = "application/json";
const CHUNK: usize = 64 * 1024;
/// A mebibyte of spaces, compressed with gzip. All parts together are half a mebibyte on the wire and over half a
/// gibibyte decompressed.
const BOMB_PART: &[u8] = include_bytes!("spaces.gz");
const BOMB_PARTS: usize = 544;
const BAN_PAGE: &str = "<!DOCTYPE html><html><head><title>Access denied</title></head><body><h1>Access denied</h1>\
    <p>The owner of this website has banned your address temporarily.</p></body></html>";
const ERROR_PAGE: &str = "<!DOCTYPE html><html><body><h1>Something went wrong</h1></body></html>";
const SLOW_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n";

/// Responds to the request with this fault, or does not respond.
pub(crate) async fn respond_with(fault: &Fault, request: &HttpRequest) -> HttpResponse {
    match fault {
        Fault::Closed => close_after(request, b""),
        Fault::Silent => std::future::pending().await,
        Fault::Drip { part, every } => drip(request, *part, *every).await,
        Fault::Status { status, body } => error_with(*status, *body),
        Fault::BanPage { status } => {
            with_status(*status).insert_header(header::ContentType::html()).body(BAN_PAGE)
        }
        Fault::Limited { retry_after, global } => {
            let wait = Duration::try_from_secs_f64(*retry_after).unwrap_or_default();
            rate_limit::too_many(wait, *global)
        }
        Fault::NotJson => HttpResponse::Ok().content_type(JSON).body("{\"access_token\": not json"),
        Fault::WrongShape => {
            HttpResponse::Ok().json(json!({"id": 7, "access_token": [], "unexpected": true}))
        }
        Fault::Huge { bytes, announced } => huge(*bytes, *announced),
        Fault::Bomb => HttpResponse::Ok()
            .content_type(JSON)
            .insert_header((header::CONTENT_ENCODING, "gzip"))
            .body(bomb()),
        Fault::Redirect { to } => {
            HttpResponse::Found().insert_header((header::LOCATION, to.as_str())).finish()
        }
        Fault::OauthError { error } => {
            let status = if error == "invalid_client" { 401 } else { 400 };
            with_status(status).json(json!({"error": error, "error_description": "As planned."}))
        }
        Fault::Truncated => close_after(
            request,
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"id\": \"1",
        ),
        Fault::Body { status, json } => with_status(*status).json(json),
        Fault::Garbage => close_after(request, b"220 this is not a web server\r\n"),
    }
}

fn with_status(status: u16) -> HttpResponseBuilder {
    HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
}

fn error_with(status: u16, body: ErrorBody) -> HttpResponse {
    let mut response = with_status(status);
    match body {
        ErrorBody::Json => response.json(json!({"message": format!("{status}: as planned"), "code": 0})),
        ErrorBody::Html => response.insert_header(header::ContentType::html()).body(ERROR_PAGE),
        ErrorBody::Empty => response.finish(),
    }
}

/// Closes the connection after these bytes. The returned response is discarded.
fn close_after(request: &HttpRequest, bytes: &[u8]) -> HttpResponse {
    if let Some(raw_connection) = request.conn_data::<RawConnection>() {
        let _ = raw_connection.send(bytes);
        raw_connection.close();
    }
    HttpResponse::InternalServerError().finish()
}

async fn drip(request: &HttpRequest, part: DripPart, every: Duration) -> HttpResponse {
    let Some(raw_connection) = request.conn_data::<RawConnection>() else {
        return HttpResponse::InternalServerError().finish();
    };
    let (at_once, slow) = match part {
        DripPart::Head => ("", SLOW_HEAD),
        DripPart::Body => (SLOW_HEAD, ""),
    };
    let mut is_sent = raw_connection.send(at_once.as_bytes()).is_ok();
    // White space before JSON may be arbitrarily long.
    let mut bytes = slow.bytes().chain(std::iter::repeat(b' '));
    while let Some(byte) = bytes.next().filter(|_| is_sent) {
        tokio::time::sleep(every).await;
        is_sent = raw_connection.send(&[byte]).is_ok();
    }
    close_after(request, b"")
}

fn huge(bytes: u64, announced: bool) -> HttpResponse {
    static SPACES: [u8; CHUNK] = [b' '; CHUNK];
    let chunk = move |sent| SPACES.get(..usize::try_from(bytes - sent).map_or(CHUNK, |left| left.min(CHUNK)));
    let chunks =
        (0..bytes).step_by(CHUNK).map(move |sent| Bytes::from_static(chunk(sent).unwrap_or_default()));
    let pieces = stream::iter(chunks.map(Ok::<_, std::convert::Infallible>));
    let mut response = HttpResponse::Ok();
    response.content_type(JSON);
    if announced { response.body(SizedStream::new(bytes, pieces)) } else { response.streaming(pieces) }
}

/// A second handle on a connection, dropped with it.
pub(crate) struct RawConnection(Socket);

impl RawConnection {
    /// Creates a handle on a connection as actix passes it.
    pub(crate) fn of(connection: &dyn Any) -> Option<Self> {
        let stream = connection.downcast_ref::<actix_web::rt::net::TcpStream>()?;
        SockRef::from(stream).try_clone().ok().map(Self)
    }

    /// Closes the connection without a response.
    pub(crate) fn close(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }

    /// Sends raw bytes. They must be few: bytes that do not fit into the send buffer are lost.
    pub(crate) fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        (&self.0).write_all(bytes)
    }
}

/// Returns the decompression bomb. Concatenated gzip members form one compressed body.
fn bomb() -> Vec<u8> {
    BOMB_PART.repeat(BOMB_PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_faults_from_json() {
        let text = r#"{"kind": "drip", "part": "body", "every_ms": 20, "times": 3}"#;
        let fault = Fault::Drip { part: DripPart::Body, every: Duration::from_millis(20) };
        let expected = PlannedFault { fault, times: Some(3) };
        assert_eq!(serde_json::from_str::<PlannedFault>(text).unwrap(), expected);
    }

    #[test]
    fn the_bomb_is_small_on_the_wire_and_huge_decompressed() {
        let bomb = bomb();
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        // A gzip member ends with its decompressed length.
        let (_, length) = BOMB_PART.split_last_chunk().unwrap();
        let opened = u32::from_le_bytes(*length) as usize;
        assert!(opened * BOMB_PARTS > 512 << 20, "{opened}");
    }
}
