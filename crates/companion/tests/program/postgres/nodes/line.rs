//! A line between a node and the server that can be interrupted.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};
use url::Url;

/// Passes everything on in both directions. While it is interrupted nothing arrives and nobody is told, as where a network is
/// parted; what was sent meanwhile arrives afterwards.
pub(super) struct Line {
    address: SocketAddr,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    interrupted: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, interrupted: bool) {
        *self.interrupted.lock().unwrap() = interrupted;
        self.changed.notify_all();
    }

    /// Returns when the line is not interrupted.
    fn pass(&self) {
        drop(self.changed.wait_while(self.interrupted.lock().unwrap(), |interrupted| *interrupted).unwrap());
    }
}

impl Line {
    /// A line to the server of this address.
    pub(super) fn to(server: &str) -> Self {
        let server = Url::parse(server).unwrap();
        let place = (server.host_str().unwrap().to_owned(), server.port().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Self { address: listener.local_addr().unwrap(), gate: Arc::default() };
        let gate = Arc::clone(&line.gate);
        // Ends with the process of the test.
        thread::spawn(move || {
            for node in listener.incoming().flatten() {
                gate.pass();
                // The server may be gone by now, at the end of the test.
                let Ok(server) = TcpStream::connect((place.0.as_str(), place.1)) else { continue };
                let back = (server.try_clone().unwrap(), node.try_clone().unwrap());
                for (from, to) in [(node, server), back] {
                    let gate = Arc::clone(&gate);
                    thread::spawn(move || carry(from, to, &gate));
                }
            }
        });
        line
    }

    /// The server's address through this line.
    pub(super) fn url(&self, server: &str) -> String {
        let mut url = Url::parse(server).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }

    pub(super) fn interrupt(&self) {
        self.gate.set(true);
    }

    pub(super) fn restore(&self) {
        self.gate.set(false);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, gate: &Gate) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        gate.pass();
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    gate.pass();
    let _ = to.shutdown(Shutdown::Both);
}
