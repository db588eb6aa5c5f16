//! An answer, taken apart.

use actix_web::{
    HttpResponse,
    body::{BodySize, BoxBody, MessageBody, to_bytes},
    http::header::HeaderMap,
};
use serde_json::Value;

/// What a caller got.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub length: BodySize,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn of(response: HttpResponse<BoxBody>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status().as_u16(),
            headers: head.headers().clone(),
            length: body.size(),
            body: to_bytes(body).await.unwrap().to_vec(),
        }
    }

    /// A header, or the empty text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The body, which has to be an envelope whose code is the status.
    #[track_caller]
    pub fn json(&self) -> Value {
        let json: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(json["code"], self.status, "{json}");
        assert!(json["message"].as_str().is_some_and(|message| !message.is_empty()), "{json}");
        assert_eq!(self.header("content-type"), "application/json");
        json
    }

    /// The data of a success.
    #[track_caller]
    pub fn data(&self) -> Value {
        let mut json = self.json();
        assert_eq!(self.status, 200, "{json}");
        json["data"].take()
    }

    /// What a change did: added, changed, removed.
    #[track_caller]
    pub fn counts(&self) -> [u64; 3] {
        let data = self.data();
        assert_eq!(data.as_object().map(serde_json::Map::len), Some(3), "{data}");
        ["added", "changed", "removed"].map(|count| data[count].as_u64().unwrap())
    }

    /// Expects a refusal of input that names exactly these places, in any order.
    #[track_caller]
    pub fn assert_invalid(&self, places: &[&str]) {
        let json = self.json();
        assert_eq!((self.status, json["data"]["error"].as_str()), (422, Some("input_invalid")), "{json}");
        let fields = json["data"]["fields"].as_array().unwrap();
        assert!(fields.iter().all(|field| field["message"].as_str().is_some_and(|text| !text.is_empty())));
        let mut named: Vec<_> = fields.iter().map(|field| field["path"].as_str().unwrap()).collect();
        let mut expected = places.to_vec();
        named.sort_unstable();
        expected.sort_unstable();
        assert_eq!(named, expected, "{json}");
    }

    /// Expects an error in its full form.
    #[track_caller]
    pub fn assert_error(&self, status: u16, word: &str) {
        let json = self.json();
        assert_eq!((self.status, json["data"]["error"].as_str()), (status, Some(word)), "{json}");
        assert_eq!(json["data"]["request_id"].as_str(), Some(self.header("x-request-id")));
        assert_eq!(json["data"].as_object().map(serde_json::Map::len), Some(2));
        assert_eq!(self.header("cache-control"), "no-store");
        // Waiting does not configure anything.
        let waits = matches!(status, 429 | 503) && word != "sign_in_not_configured";
        assert_eq!(self.header("retry-after").parse::<u64>().is_ok_and(|wait| wait >= 1), waits);
    }
}
