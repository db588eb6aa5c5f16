//! A proxy between the storage and the server that drops selected responses.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::SeqCst},
    },
    thread,
};

/// What happens to the response to the next commit.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum CommitResponse {
    /// It is delivered.
    Delivered = 0,
    /// It is dropped, and the connection is closed.
    Disconnected = 1,
    /// It is dropped, and the connection stays open.
    Withheld = 2,
}

/// Forwards all traffic in both directions, except the selected responses.
pub(crate) struct Proxy {
    address: SocketAddr,
    next_commit: Arc<AtomicU8>,
}

impl Proxy {
    /// Starts a proxy for the server at this address.
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self { address: listener.local_addr().unwrap(), next_commit: Arc::default() };
        let (server, next_commit) = (place(server).to_owned(), Arc::clone(&proxy.next_commit));
        // Ends with the test process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&server).unwrap();
                carry(client, server, Arc::clone(&next_commit));
            }
        });
        proxy
    }

    /// Returns the address of the server through this proxy.
    pub(crate) fn url(&self, server: &str) -> String {
        server.replacen(place(server), &self.address.to_string(), 1)
    }

    /// Sets what happens to the response to the next commit on any connection.
    pub(crate) fn next_commit(&self, response: CommitResponse) {
        self.next_commit.store(response as u8, SeqCst);
    }
}

/// Returns the host and port of an address.
fn place(url: &str) -> &str {
    let after_login = url.split_once('@').unwrap().1;
    after_login.split(['/', '?']).next().unwrap()
}

/// Returns the next bytes, or `None` once the peer has closed the connection.
fn received<'a>(from: &mut TcpStream, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let length = from.read(buffer).ok().filter(|length| *length > 0)?;
    buffer.get(..length)
}

fn carry(client: TcpStream, server: TcpStream, next_commit: Arc<AtomicU8>) {
    let response = Arc::new(AtomicU8::new(CommitResponse::Delivered as u8));
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let decided = Arc::clone(&response);
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Some(part) = received(&mut from_client, &mut buffer) {
            if part.windows(7).any(|word| word == b"COMMIT\0") {
                decided.store(next_commit.swap(CommitResponse::Delivered as u8, SeqCst), SeqCst);
            }
            if to_server.write_all(part).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let (mut server, mut client, mut buffer) = (server, client, [0; 65_536]);
        while let Some(part) = received(&mut server, &mut buffer) {
            // The response follows the commit, so what happens to it is already decided.
            match response.load(SeqCst) {
                1 => break,
                2 => {}
                _ => {
                    if client.write_all(part).is_err() {
                        break;
                    }
                }
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}
