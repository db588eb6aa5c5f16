//! A client of the server, in this process.

use actix_web::{
    App,
    body::{BodySize, MessageBody as _},
    http::header::HeaderMap,
    test::{TestRequest, call_service, init_service, read_body},
    web::Bytes,
};
use companion_dev_identity::Control;
use url::form_urlencoded;

pub(crate) struct Browser(pub(crate) Control);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The size that is announced.
    pub(crate) size: BodySize,
    pub(crate) body: Bytes,
    headers: HeaderMap,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn html(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap().to_owned()
    }

    pub(crate) fn error(&self) -> (u16, String) {
        (self.status, self.text("error"))
    }
}

impl Browser {
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, "").await
    }

    pub(crate) async fn post_form(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        self.send("POST", path, &[headers, &[kind]].concat(), &form).await
    }

    pub(crate) async fn json(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(method, path, &[("Content-Type", "application/json")], body).await
    }

    /// Sends a `User-Agent` and a `Host` unless others are given.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = TestRequest::with_uri(path).method(method.parse().unwrap());
        for header in [("Host", "127.0.0.1:8083"), ("User-Agent", "a test")].iter().chain(headers) {
            request = request.insert_header(*header);
        }
        let app = init_service(App::new().configure(|config| self.0.configure(config))).await;
        let response = call_service(&app, request.set_payload(body.to_owned()).to_request()).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, size: response.response().body().size(), body: read_body(response).await }
    }
}
