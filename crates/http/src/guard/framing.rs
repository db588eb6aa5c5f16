//! Finds where a request ends. The rules are those of the server's parser; tests compare both.

use actix_codec::Decoder as _;
use actix_http::{
    RequestHead, ServiceConfig,
    h1::{Codec, Message},
    header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, UPGRADE},
};
use actix_web::{http::Method, web::BytesMut};
use memchr::memchr;

/// Incremental search for the end of a request head. Empty lines before the request line belong to the head; lines end
/// with LF or CRLF.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum HeadEnd {
    /// Only empty lines so far.
    #[default]
    Start,
    /// Within a line.
    Line,
    /// After the LF of a line.
    Lf,
    /// After the LF of a line and a CR.
    LfCr,
}

impl HeadEnd {
    /// Scans `bytes`. Returns the length of the part that belongs to the head if the head ends in them.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            *self = match (*self, byte) {
                (Self::Start, b'\r' | b'\n') => Self::Start,
                (Self::Lf | Self::LfCr, b'\n') => return Some(at + 1),
                (Self::Lf, b'\r') => Self::LfCr,
                _ => match memchr(b'\n', bytes.get(at..).unwrap_or_default()) {
                    Some(skipped) => {
                        at += skipped;
                        Self::Lf
                    }
                    None => {
                        *self = Self::Line;
                        return None;
                    }
                },
            };
            at += 1;
        }
        None
    }
}

/// The kind of body that a request head announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Absent,
    Length(u64),
    Chunked,
    /// Another protocol follows, after CONNECT or a WebSocket upgrade.
    Tunnel,
}

impl Body {
    /// Returns the body of a parsed request. The server's parser has already rejected contradictory lengths.
    pub(crate) fn of(head: &RequestHead) -> Self {
        let is_websocket = |value: &HeaderValue| {
            value.to_str().is_ok_and(|value| value.trim().eq_ignore_ascii_case("websocket"))
        };
        let headers = &head.headers;
        if headers.contains_key(TRANSFER_ENCODING) {
            return Self::Chunked;
        }
        if headers.get_all(UPGRADE).any(is_websocket) {
            return Self::Tunnel;
        }
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.trim().parse().ok());
        match length {
            Some(length) if length > 0 => Self::Length(length),
            _ if head.method == Method::CONNECT => Self::Tunnel,
            _ => Self::Absent,
        }
    }
}

/// Finds the end of a chunked body with the server's own decoder.
pub(super) struct ChunkedEnd {
    codec: Codec,
    buffer: BytesMut,
}

/// Result of scanning a piece of a chunked body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AfterPiece {
    /// The body continues.
    Body,
    /// The body has ended; this many of the last bytes follow it.
    Rest(usize),
    /// The body is malformed.
    Malformed,
}

impl ChunkedEnd {
    pub(super) fn new(config: &ServiceConfig) -> Self {
        let (mut codec, mut buffer) = (Codec::new(config.clone()), BytesMut::new());
        buffer.extend_from_slice(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        // After this head, the codec expects chunks.
        let _head = codec.decode(&mut buffer);
        Self { codec, buffer }
    }

    pub(super) fn find(&mut self, bytes: &[u8]) -> AfterPiece {
        self.buffer.extend_from_slice(bytes);
        loop {
            match self.codec.decode(&mut self.buffer) {
                Ok(Some(Message::Chunk(Some(_)))) => {}
                Ok(Some(Message::Chunk(None))) => return AfterPiece::Rest(self.buffer.len()),
                Ok(None) => return AfterPiece::Body,
                Ok(Some(Message::Item(_))) | Err(_) => return AfterPiece::Malformed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_http::h1::MessageType;
    use companion_testkit::hostile::{Hostile, count};

    const USUAL: u64 = 20_000;
    const FULL: u64 = 10_000_000;

    const SAMPLES: [&str; 12] = [
        "GET /team HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /team HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\nHost: a\n\n",
        "\r\n\n\r\nHEAD / HTTP/1.0\r\nHost: a\n\r\nGET / HTTP/1.0\r\n\r\n",
        "POST /auth HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA;x=y\r\n0123456789\r\n0\r\nT: x\r\n\r\nGET",
        "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
        "CONNECT a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length:  7 \r\nExpect: 100-continue\r\n\r\n0123456",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    ];

    /// Returns where a request ends for the server, or `None` if its parser rejects the request or needs more bytes.
    fn end_for_server(config: &ServiceConfig, bytes: &[u8]) -> Option<(usize, Body, Option<usize>)> {
        let (mut codec, mut buffer) = (Codec::new(config.clone()), BytesMut::from(bytes));
        let Ok(Some(Message::Item(request))) = codec.decode(&mut buffer) else { return None };
        let head = bytes.len() - buffer.len();
        let body = Body::of(request.head());
        if codec.message_type() == MessageType::None {
            assert_eq!(body, Body::Absent);
            return Some((head, body, Some(head)));
        }
        if codec.message_type() == MessageType::Stream {
            assert_eq!(body, Body::Tunnel);
            return Some((head, body, None));
        }
        loop {
            match codec.decode(&mut buffer) {
                Ok(Some(Message::Chunk(Some(_)))) => {}
                Ok(Some(Message::Chunk(None))) => {
                    return Some((head, body, Some(bytes.len() - buffer.len())));
                }
                Ok(Some(Message::Item(_))) => panic!("a request within a body"),
                Ok(None) | Err(_) => return Some((head, body, None)),
            }
        }
    }

    /// Returns where a request ends for the guard, which gets the bytes in two pieces.
    fn end_for_guard(
        config: &ServiceConfig,
        bytes: &[u8],
        at: usize,
        body: Body,
    ) -> (Option<usize>, Option<usize>) {
        let (first, second) = bytes.split_at(at);
        let mut head_end = HeadEnd::default();
        let found = head_end.find(first).or_else(|| head_end.find(second).map(|end| at + end));
        let Some(head) = found else { return (None, None) };
        let end = match body {
            Body::Absent => Some(head),
            Body::Length(length) => usize::try_from(length)
                .ok()
                .and_then(|length| head.checked_add(length))
                .filter(|end| *end <= bytes.len()),
            Body::Tunnel => None,
            Body::Chunked => {
                let (mut chunked, at) = (ChunkedEnd::new(config), at.max(head));
                match chunked.find(&bytes[head..at]) {
                    AfterPiece::Rest(rest) => Some(at - rest),
                    AfterPiece::Malformed => None,
                    AfterPiece::Body => match chunked.find(&bytes[at..]) {
                        AfterPiece::Rest(rest) => Some(bytes.len() - rest),
                        AfterPiece::Malformed | AfterPiece::Body => None,
                    },
                }
            }
        };
        (Some(head), end)
    }

    #[actix_web::test]
    async fn hostile_requests_end_where_the_server_ends_them() {
        let config = ServiceConfig::default();
        let mut hostile = Hostile::new(&SAMPLES, 7);
        let (inputs, mut parsed) = (count(USUAL, FULL), 0_u64);
        for number in 0..inputs {
            let at = hostile.below(64);
            let bytes = match SAMPLES.get(usize::try_from(number).unwrap()) {
                Some(sample) => sample.as_bytes(),
                None => hostile.bytes(),
            };
            let Some((head, body, end)) = end_for_server(&config, bytes) else { continue };
            parsed += 1;
            let found = end_for_guard(&config, bytes, at.min(bytes.len()), body);
            assert_eq!(found, (Some(head), end), "{:?}", String::from_utf8_lossy(bytes));
        }
        println!(
            "hostile: {inputs} requests in two pieces, {parsed} of them parsed: 0 differences in framing"
        );
        assert!(parsed > inputs / 4, "{parsed} of {inputs}");
    }
}
