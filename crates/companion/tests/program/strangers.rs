//! Strangers who connect and make us wait: each is cut off in time, leaves nothing behind, and nobody else notices.

use crate::{
    holdings::Holdings,
    http::{self, Kept},
    program::{Program, Running},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// How many strangers of each kind there are for each hundred of the full number, unless this variable says how many.
const PERCENT: usize = 1;
const PERCENT_VARIABLE: &str = "STRANGERS";
/// Whoever makes us wait is cut off by then.
const CUT_OFF: Duration = Duration::from_secs(10);
/// What all of them together may cost while they are there, and what may stay when they are gone.
const MEMORY: u64 = 64 << 20;

/// What they took is given back by then.
const GIVEN_BACK: Duration = Duration::from_secs(20);

/// What takes no longer than this, nobody notices.
const UNNOTICED: Duration = Duration::from_millis(1);

/// How much of our answers the system takes for someone who does not read.
const ROOM: usize = 16 * 1024;

/// How strangers make us wait.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// They say nothing.
    Silent,
    /// They get one answer, and then send one byte.
    OneByte,
    /// They announce a body that never comes.
    WithoutBody,
    /// They ask for much and read nothing.
    Stalled,
}

impl Kind {
    const ALL: [(Self, usize); 4] =
        [(Self::Silent, 20_000), (Self::OneByte, 5000), (Self::WithoutBody, 1000), (Self::Stalled, 2000)];

    /// Does what such a stranger does. Nothing where we turned it away.
    fn begin(self, mut stream: TcpStream) -> Option<TcpStream> {
        match self {
            Self::Silent => {}
            Self::OneByte => {
                stream.write_all(b"GET /team HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
                let mut answer = [0; 4096];
                (stream.read(&mut answer).ok()? > 0).then_some(())?;
                stream.write_all(b"G").ok()?;
            }
            Self::WithoutBody => {
                let head =
                    b"POST /auth HTTP/1.1\r\nHost: x\r\nIdp-Code: some\r\nContent-Length: 1000\r\n\r\n";
                stream.write_all(head).ok()?;
            }
            Self::Stalled => {
                // Or else the system might take all of the answers, and then nobody waits.
                SockRef::from(&stream).set_recv_buffer_size(ROOM).ok()?;
                let requests = b"GET /team HTTP/1.1\r\nHost: x\r\n\r\n".repeat(4000);
                stream.set_nonblocking(true).ok()?;
                // As much as there is room for.
                let _ = stream.write(&requests);
                stream.set_nonblocking(false).ok()?;
            }
        }
        Some(stream)
    }
}

/// Connects from the address with this number. All of them are this machine.
pub(crate) fn connect(to: SocketAddr, number: u32) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + number);
    socket.bind(&SockAddr::from(SocketAddr::from((from, 0)))).unwrap();
    socket.connect(&SockAddr::from(to)).ok()?;
    Some(socket.into())
}

/// Whether the other side ends this in time.
fn is_cut_off(mut stream: TcpStream, deadline: Instant) -> bool {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).unwrap();
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            // What it did not read in time.
            Ok(_) => {}
            Err(error) => return !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// Lets this process open as many files as the system allows it. Returns how many.
fn all_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    limit.maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap())
}

/// The slowest but one in a hundred of answers to someone who asks one after the other, for as long as this says.
fn slowest_of_most(address: &str, goes_on: impl Fn(Instant) -> bool) -> Duration {
    let mut connection = Kept::to(address).unwrap();
    let (mut taken, beginning) = (Vec::new(), Instant::now());
    while goes_on(beginning) {
        let begun = Instant::now();
        assert_eq!(connection.get("/team", &[]).unwrap().status, 200);
        taken.push(begun.elapsed());
    }
    taken.sort_unstable();
    taken[taken.len() * 99 / 100]
}

/// What is held once no more memory than this is, or when it should long have been: free memory goes back after ten seconds.
fn given_back(service: &Running, memory: u64) -> Holdings {
    let begun = Instant::now();
    loop {
        let now = Holdings::of(service);
        if now.memory < memory || begun.elapsed() > GIVEN_BACK {
            return now;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn strangers_who_make_us_wait_are_cut_off_and_leave_nothing_behind() {
    let percent = std::env::var(PERCENT_VARIABLE).map_or(PERCENT, |text| text.parse().unwrap());
    let files = all_files();
    // Beside other tests everything takes longer.
    let in_time = if percent == 100 { CUT_OFF } else { CUT_OFF * 3 };
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_IDENTITY__CLIENT_ID", "123")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "hush")
        .env("COMPANION_IDENTITY__REDIRECT_URI", "https://dashboard.example/callback")
        .start();
    let (public, management) = (service.public(), service.management());
    let address: SocketAddr = public.parse().unwrap();
    println!(
        "| strangers | addresses | connected | cut off in 10 s | p99 before, with them | memory before, with them, after (MB) |"
    );
    println!("|---|---|---|---|---|---|");
    for (kind, full) in Kind::ALL {
        for addresses in [1, 200] {
            let count = (full * percent / 100).min(files - 500);
            let usual = slowest_of_most(&public, |begun| begun.elapsed() < Duration::from_millis(500));
            let before = Holdings::of(&service);
            let over = AtomicBool::new(false);
            let (strangers, slowest, during) = thread::scope(|scope| {
                let asking = scope.spawn(|| slowest_of_most(&public, |_| !over.load(Relaxed)));
                let strangers: Vec<_> = (0..u32::try_from(count).unwrap())
                    .filter_map(|number| kind.begin(connect(address, 1 + number % addresses)?))
                    .collect();
                // The operator gets in whatever happens at the other door.
                assert_eq!(http::get(&management, "/health/ready", &[]).status, 200);
                // Nobody reads meanwhile, so whoever is gone was cut off.
                let begun = Instant::now();
                let mut during = Holdings::of(&service);
                loop {
                    let now = Holdings::of(&service);
                    during.memory = during.memory.max(now.memory);
                    if now.files <= before.files + 1 || begun.elapsed() > in_time {
                        break;
                    }
                    // Whoever asks without a pause takes the processor from those who are asked.
                    thread::park_timeout(Duration::from_millis(20));
                }
                let connected = strangers.len();
                let cut_off = strangers
                    .into_iter()
                    .filter_map(|one| is_cut_off(one, begun + in_time).then_some(()))
                    .count();
                over.store(true, Relaxed);
                ((connected, cut_off), asking.join().unwrap(), during)
            });
            let after = given_back(&service, before.memory + MEMORY / 2);
            let megabytes = [before, during, after].map(|holdings| holdings.memory >> 20);
            let (connected, cut_off) = strangers;
            println!(
                "| {count} {kind:?} | {addresses} | {connected} | {cut_off} | {usual:.1?}, {slowest:.1?} | {megabytes:?} |"
            );
            assert_eq!(connected, cut_off, "{kind:?}");
            let noticed = slowest > UNNOTICED.max(usual * 2);
            // Beside other tests everyone is noticed.
            assert!(percent < 100 || !noticed, "{kind:?}: {usual:?}, then {slowest:?}");
            assert!(during.memory < before.memory + MEMORY, "{kind:?}: {megabytes:?} MB");
            assert!(after.memory < before.memory + MEMORY / 2, "{kind:?}: {megabytes:?} MB");
            assert!(
                after.files <= before.files + 2,
                "{kind:?}: {} files, then {}",
                before.files,
                after.files
            );
        }
    }
    service.signal("INT");
    assert_eq!(service.finish().code, Some(0));
}
