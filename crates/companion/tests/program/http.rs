//! A minimal HTTP client for requests to the running program, and a server for requests of it.

use serde_json::Value;
use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

pub(crate) fn get(address: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(address, "GET", path, headers)
}

pub(crate) fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    send(address, method, path, headers, "").unwrap()
}

/// Returns `None` if the response is incomplete.
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    begin(address, method, path, headers, body)?.json()
}

/// Sends the request without waiting for the response, so that one thread can have many in flight.
pub(crate) fn begin(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Kept> {
    let mut connection = Kept::to(address).ok()?;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         {headers}\r\n{body}"
    );
    connection.send(request.as_bytes()).ok()?;
    Some(connection)
}

/// A keep-alive connection.
pub(crate) struct Kept<S = TcpStream>(BufReader<S>);

/// A response on a keep-alive connection.
pub(crate) struct KeptAnswer {
    pub(crate) status: u16,
    /// The header lines.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the response closes the connection.
    pub(crate) closes: bool,
}

impl Kept {
    pub(crate) fn to(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }
}

impl<S: Read + Write> Kept<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self(BufReader::new(stream))
    }

    pub(crate) fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> io::Result<KeptAnswer> {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n").as_bytes())?;
        self.answer()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    pub(crate) fn answer(&mut self) -> io::Result<KeptAnswer> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let (mut head, mut length, mut closes) = (String::new(), 0, false);
        loop {
            let line = self.line()?;
            head += &format!("{line}\n");
            match line.to_ascii_lowercase().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("connection", value)) => closes = value == "close",
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok(KeptAnswer { status: status.unwrap(), head, body, closes })
    }

    /// Reads a response with a body in JSON. Returns `None` if it is incomplete.
    pub(crate) fn json(mut self) -> Option<Answer> {
        let KeptAnswer { status, body, .. } = self.answer().ok()?;
        Some(Answer { status, body: serde_json::from_slice(&body).ok()? })
    }

    /// Whether the peer has closed the connection.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.0.read(&mut [0]), Ok(0))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

/// Answers each request to a free loopback port with the bytes that `answer` returns for its head and body, as long as
/// the test runs. Returns the address.
pub(crate) fn serve(mut answer: impl FnMut(&str, &[u8]) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while stream.read_line(&mut head).is_ok_and(|length| length > 2) {}
            let length = head.to_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            let _ = stream.read_exact(&mut body);
            let _ = stream.get_mut().write_all(&answer(&head, &body));
        }
    });
    address
}
