//! A minimal web client: one connection per request, any response accepted.

use std::{io, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use url::form_urlencoded;

pub(crate) struct Browser {
    address: SocketAddr,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
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
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, "").await.unwrap()
    }

    pub(crate) async fn try_get(&self, path: &str) -> io::Result<Answer> {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post_form(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        self.send("POST", path, &[headers, &[kind]].concat(), &form).await.unwrap()
    }

    pub(crate) async fn json(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(method, path, &[("Content-Type", "application/json")], body).await.unwrap()
    }

    /// Sends a `User-Agent` and a `Host` unless others are given.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Answer> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let own_host = self.address.to_string();
        let usual = [("Host", &*own_host), ("User-Agent", "a test")];
        let usual = usual.iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
        for (name, value) in headers.iter().chain(usual) {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let head = String::from_utf8(answer[..end].to_vec()).map_err(io::Error::other)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok(Answer {
            status: status.ok_or(io::ErrorKind::InvalidData)?,
            head,
            body: answer[end + 4..].to_vec(),
        })
    }
}
