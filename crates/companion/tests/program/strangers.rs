//! Hostile clients that hold connections: each is cut off in time and costs little, and no other client notices.

use crate::{
    http::{self, Kept},
    program::{Holdings, Program, Running},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// Percentage of the full number of clients, in the full form.
const PERCENT_VARIABLE: &str = "STRANGERS";
/// A client that keeps the service waiting is cut off within this time.
const CUT_OFF_TIMEOUT: Duration = Duration::from_secs(10);
/// How long clients that are not cut off are observed.
const OBSERVED_FOR: Duration = Duration::from_secs(3);
/// Memory that all of them together may use while connected, in bytes.
const MAX_MEMORY: u64 = 64 << 20;
/// All but half of that memory is released within this time.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(20);
/// A p99 latency below this counts as unaffected.
const UNAFFECTED_P99: Duration = Duration::from_millis(1);
/// Receive buffer of a client that does not read, in bytes.
const RECEIVE_BUFFER: usize = 16 * 1024;
/// Receive buffer of a reading client in the default form, in bytes: two segments of the loopback interface, so that no
/// segment waits for a timer.
const READER_BUFFER: usize = 128 * 1024;
const KEY: &str = "the-management-key";

/// The behaviour of the clients of an attack.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Send nothing.
    Silent,
    /// Receive one response, then send one byte.
    OneByte,
    /// Send 15 KB of a request head, and never its end.
    HalfHead,
    /// Announce a body that never comes.
    WithoutBody,
    /// Send small requests, and read no response.
    Stalled,
    /// Request the largest response, and read none of it.
    Unread,
    /// Sign in with a platform that does not answer, and pipeline ten requests of 15 KB.
    Pipelined,
}

impl Kind {
    const ALL: [(Self, usize); 7] = [
        (Self::Silent, 20_000),
        (Self::OneByte, 5000),
        (Self::HalfHead, 4000),
        (Self::WithoutBody, 1000),
        (Self::Stalled, 2000),
        (Self::Unread, 4000),
        (Self::Pipelined, 4000),
    ];

    /// Starts the behaviour. Returns `None` if the client was refused.
    fn begin(self, mut stream: TcpStream) -> Option<TcpStream> {
        match self {
            Self::Silent => {}
            Self::OneByte => {
                stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
                let mut answer = [0; 4096];
                (stream.read(&mut answer).ok()? > 0).then_some(())?;
                stream.write_all(b"G").ok()?;
            }
            Self::HalfHead => {
                let half = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}", "x".repeat(15_000));
                stream.write_all(half.as_bytes()).ok()?;
            }
            Self::WithoutBody => {
                let head =
                    b"POST /auth HTTP/1.1\r\nHost: x\r\nIdp-Code: some\r\nContent-Length: 1000\r\n\r\n";
                stream.write_all(head).ok()?;
            }
            Self::Stalled => {
                send_and_never_read(&stream, &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(4000))?;
            }
            Self::Unread => send_and_never_read(&stream, b"GET /team HTTP/1.1\r\nHost: x\r\n\r\n")?,
            Self::Pipelined => {
                let sign_in = "POST /auth HTTP/1.1\r\nHost: x\r\nIdp-Code: some\r\n\r\n";
                let large = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(15_000));
                send_and_never_read(&stream, format!("{sign_in}{}", large.repeat(10)).as_bytes())?;
            }
        }
        Some(stream)
    }

    /// Whether such clients are cut off. The others are answered, and then idle.
    fn is_cut_off(self) -> bool {
        self != Self::Pipelined
    }
}

/// Sends as many bytes as fit, and reads nothing.
fn send_and_never_read(mut stream: &TcpStream, bytes: &[u8]) -> Option<()> {
    // A larger buffer could take all of the responses.
    SockRef::from(&stream).set_recv_buffer_size(RECEIVE_BUFFER).ok()?;
    stream.set_nonblocking(true).ok()?;
    let _ = stream.write(bytes);
    stream.set_nonblocking(false).ok()
}

/// Connects from the loopback address with this number.
pub(crate) fn connect(to: SocketAddr, number: u32) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + number);
    socket.bind(&SockAddr::from(SocketAddr::from((from, 0)))).unwrap();
    socket.connect(&SockAddr::from(to)).ok()?;
    Some(socket.into())
}

/// Connects this many clients from this many addresses, and lets each begin. Returns those that were not refused.
fn crowd(
    to: SocketAddr,
    count: usize,
    addresses: u32,
    begin: impl Fn(TcpStream) -> Option<TcpStream>,
) -> Vec<TcpStream> {
    let numbers = 0..u32::try_from(count).unwrap();
    numbers.filter_map(|number| begin(connect(to, 1 + number % addresses)?)).collect()
}

/// Whether the peer closes the connection before the deadline.
fn ends_in_time(mut stream: TcpStream, deadline: Instant) -> bool {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).unwrap();
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            // Data that the client did not read in time.
            Ok(_) => {}
            Err(error) => return !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// Raises the limit of open files of this process to the maximum, and returns it.
fn all_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    limit.maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap())
}

/// Returns the percentage of the full form, or `None` for the default form.
fn percent() -> Option<usize> {
    std::env::var(PERCENT_VARIABLE).ok().map(|text| text.parse().unwrap())
}

/// What another client observes.
struct Observed {
    asked: usize,
    answered: usize,
    p99: Duration,
}

/// Sends requests one after the other, one in twenty on a new connection.
fn meet(address: &str, mut goes_on: impl FnMut(Instant) -> bool) -> Observed {
    let mut kept = Kept::to(address).ok();
    let (mut asked, mut taken, beginning) = (0, Vec::new(), Instant::now());
    while goes_on(beginning) {
        asked += 1;
        if asked % 20 == 0 || kept.is_none() {
            kept = Kept::to(address).ok();
        }
        let begun = Instant::now();
        match kept.as_mut().map(|kept| kept.get("/", &[])) {
            Some(Ok(answer)) if answer.status == 200 => taken.push(begun.elapsed()),
            _ => kept = None,
        }
    }
    Observed { asked, answered: taken.len(), p99: p99(taken) }
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() * 99 / 100).copied().unwrap_or_default()
}

/// Waits until the service holds no more than this, with a deadline. Free memory is returned after ten seconds.
fn given_back(service: &Running, memory: u64, files: usize) -> Holdings {
    let begun = Instant::now();
    loop {
        let now = Holdings::of(service);
        if (now.memory < memory && now.files <= files) || begun.elapsed() > RELEASE_TIMEOUT {
            return now;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
}

/// Starts a service with a platform that never answers, and the largest team.
fn service() -> (Running, TcpListener) {
    let platform = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_IDENTITY__CLIENT_ID", "123")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "hush")
        .env("COMPANION_IDENTITY__REDIRECT_URI", "https://dashboard.example/callback")
        .env("COMPANION_IDENTITY__API_URL", &format!("http://{}", platform.local_addr().unwrap()))
        .env("COMPANION_MANAGEMENT__KEY", KEY)
        .env("COMPANION_LOG__LEVEL", "error")
        .start();
    put_largest_team(&service.management());
    (service, platform)
}

/// Each of these characters takes six bytes in a response.
fn put_largest_team(management: &str) {
    let (name, path) = ("\u{1}".repeat(256), "x".repeat(2000));
    let member = |number: u32| {
        json!({
            "username": name, "name": name, "avatar": format!("https://cdn.example/{path}"), "role": name,
            "discord_id": (number + 1).to_string(), "color": "#00AA00", "category": name, "position": number
        })
    };
    let team: Vec<_> = (0..250).map(member).collect();
    let key = format!("Bearer {KEY}");
    let body = json!(team).to_string();
    let put = http::send(management, "PUT", "/bot/team", &[("Authorization", &key)], &body).unwrap();
    assert_eq!(put.status, 200, "{}", put.body);
}

/// Thousands of each kind, against a release build. The tests of `companion_http` assert each deadline.
#[test]
#[ignore = "takes minutes: cargo xtask deep strangers"]
fn cuts_off_thousands_of_stalled_clients_without_leaks() {
    let percent = percent().unwrap_or(100);
    let files = all_files();
    // Other tests slow everything down.
    let in_time = if percent == 100 { CUT_OFF_TIMEOUT } else { CUT_OFF_TIMEOUT * 3 };
    let (mut service, _platform) = service();
    let (public, management) = (service.public(), service.management());
    let address: SocketAddr = public.parse().unwrap();
    let mut wrong = Vec::new();
    println!(
        "| clients | addresses | connected | cut off in 10 s | p99 of another before, meanwhile | its answers | memory before, meanwhile, after (MB) |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (kind, full) in Kind::ALL {
        for addresses in [1, 200] {
            let count = (full * percent / 100).min(files - 500);
            let usual = meet(&public, |begun| begun.elapsed() < Duration::from_millis(500));
            let before = Holdings::of(&service);
            let over = AtomicBool::new(false);
            let (connected, cut_off, met, during) = thread::scope(|scope| {
                let asking = scope.spawn(|| meet(&public, |_| !over.load(Relaxed)));
                let clients = crowd(address, count, addresses, |stream| kind.begin(stream));
                // The operator is answered whatever happens on the other listener.
                assert_eq!(http::get(&management, "/health/ready", &[]).status, 200);
                // They read nothing meanwhile, so closed connections were cut off.
                let begun = Instant::now();
                let mut during = Holdings::of(&service);
                let watched = if kind.is_cut_off() { in_time } else { OBSERVED_FOR };
                // Twice, because the other client opens a new connection now and then.
                let mut seen_gone = 0;
                while seen_gone < 2 && begun.elapsed() < watched {
                    let now = Holdings::of(&service);
                    during.memory = during.memory.max(now.memory);
                    seen_gone = if now.files <= before.files + 1 { seen_gone + 1 } else { 0 };
                    // Polling without a pause would take the processor from the service.
                    thread::park_timeout(Duration::from_millis(20));
                }
                let connected = clients.len();
                let ends = |one| kind.is_cut_off() && ends_in_time(one, begun + in_time);
                let cut_off = clients.into_iter().map(ends).filter(|ends| *ends).count();
                over.store(true, Relaxed);
                (connected, cut_off, asking.join().unwrap(), during)
            });
            let after = given_back(&service, before.memory + MAX_MEMORY / 2, before.files + 2);
            let megabytes = [before, during, after].map(|holdings| holdings.memory >> 20);
            let Observed { asked, answered, p99 } = met;
            println!(
                "| {count} {kind:?} | {addresses} | {connected} | {cut_off} | {:.1?}, {p99:.1?} | {answered} of {asked} | {megabytes:?} |",
                usual.p99
            );
            let is_noticed = p99 > UNAFFECTED_P99.max(usual.p99 * 2);
            let checks = [
                (!kind.is_cut_off() || connected == cut_off, "some were not cut off"),
                // Beside other tests latencies say nothing.
                (percent < 100 || !is_noticed, "others notice"),
                (asked == answered, "others are not answered"),
                (during.memory < before.memory + MAX_MEMORY, "they cost too much"),
                (after.memory < before.memory + MAX_MEMORY / 2, "memory stays"),
                (after.files <= before.files + 2, "descriptors stay"),
            ];
            wrong.extend(
                checks
                    .iter()
                    .filter(|(holds, _)| !holds)
                    .map(|(_, what)| format!("{kind:?} from {addresses}: {what}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    service.stop();
}

/// Sends requests one after the other from an address of its own, and asserts that each is answered. Returns the p99.
fn all_answered(asked: &[(SocketAddr, &str)]) -> Duration {
    let key = format!("Bearer {KEY}");
    let times = asked.iter().map(|(address, path)| {
        let begun = Instant::now();
        let stream = connect(*address, 5000).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let answer = Kept::over(stream).get(path, &[("Authorization", &key)]).unwrap();
        assert_eq!(answer.status, 200, "{path}");
        begun.elapsed()
    });
    p99(times.collect())
}

/// Opens connections that received one response and are idle since, as many as are accepted.
fn idle(address: SocketAddr, path: &str, count: usize, addresses: u32) -> Vec<TcpStream> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    crowd(address, count, addresses, |mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        (stream.read(&mut [0; 4096]).ok()? > 0).then_some(stream)
    })
}

#[test]
fn idle_clients_do_not_block_the_management_api() {
    all_files();
    let (mut service, _platform) = service();
    let management: SocketAddr = service.management().parse().unwrap();
    let (clients, requests) = if percent().is_some() { (2000, 50) } else { (200, 20) };
    for addresses in [1, 200] {
        let before = Holdings::of(&service);
        let held = idle(management, "/health/live", clients, addresses);
        let asked =
            ["/health/live", "/health/ready", "/metrics"].map(|path| (management, path)).repeat(requests);
        let p99 = all_answered(&asked);
        println!(
            "{clients} idle connections of {addresses} address(es) to the management API, {} let in: another address got {} answers, \
             p99 {p99:.1?}, {} MB more",
            held.len(),
            asked.len(),
            Holdings::of(&service).memory.saturating_sub(before.memory) >> 20
        );
    }
    service.stop();
}

#[test]
fn stalled_clients_leave_room_on_a_small_machine() {
    all_files();
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0")
        .env("COMPANION_DASHBOARD__URL", "http://127.0.0.1:1")
        .env("COMPANION_LOG__LEVEL", "warn")
        .with_descriptors(1024)
        .start();
    let dashboard = service.said("Dashboard:");
    let dashboard = dashboard.split_once("listens on ").unwrap().1.trim_end_matches(')').to_owned();
    let doors = [(service.public(), "/"), (service.management(), "/health/live"), (dashboard, "/status")];
    let doors = doors.map(|(address, path)| (address.parse::<SocketAddr>().unwrap(), path));
    // Together more than there are descriptors.
    let (idling, silent, requests) = if percent().is_some() { (600, 400, 52) } else { (230, 150, 20) };
    for addresses in [1, 200] {
        let mut held: Vec<_> =
            doors.iter().flat_map(|(door, path)| idle(*door, path, idling, addresses)).collect();
        held.extend(doors.iter().flat_map(|(door, _)| crowd(*door, silent, addresses, Some)));
        let asked = doors.repeat(requests);
        all_answered(&asked);
        println!(
            "1,024 descriptors, {} connections of {addresses} address(es), {} held: another address got {} answers; \
             {} descriptors",
            3 * (idling + silent),
            held.len(),
            asked.len(),
            Holdings::of(&service).files
        );
    }
    let finished = service.stop();
    assert_eq!(finished.err.matches("Too many open files").count(), 0, "{}", finished.err);
}

/// Reads what is available. Returns whether the connection was closed.
fn read_some(stream: &mut TcpStream, read: &mut usize, buffer: &mut [u8]) -> bool {
    match stream.read(buffer) {
        Ok(0) => true,
        Ok(count) => {
            *read += count;
            false
        }
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock),
    }
}

#[test]
fn clients_that_do_not_read_truncate_no_other_response() {
    all_files();
    let (mut service, _platform) = service();
    let public = service.public();
    let address: SocketAddr = public.parse().unwrap();
    let request = b"GET /team HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let whole = {
        let mut stream = connect(address, 1).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer.len()
    };
    // Enough for twice the allowed memory, if each client had its own copy of the response.
    let (stalls, reads, room) =
        if percent().is_some() { (400, 200, RECEIVE_BUFFER) } else { (40, 40, READER_BUFFER) };
    for addresses in [1, 200] {
        let before = Holdings::of(&service);
        let stalled = crowd(address, stalls, addresses, |stream| Kind::Unread.begin(stream));
        // Slow readers of one address: 16 KiB per round.
        let mut readers: Vec<_> = (0..reads)
            .map(|_| {
                let mut stream = connect(address, 4000).unwrap();
                SockRef::from(&stream).set_recv_buffer_size(room).unwrap();
                stream.write_all(request).unwrap();
                stream.set_nonblocking(true).unwrap();
                (stream, 0, false)
            })
            .collect();
        let (mut buffer, mut memory) = (vec![0; 16 * 1024], 0);
        while readers.iter().any(|(_, _, ended)| !ended) {
            for (stream, read, ended) in readers.iter_mut().filter(|(_, _, ended)| !ended) {
                *ended = read_some(stream, read, &mut buffer);
            }
            memory = memory.max(Holdings::of(&service).memory);
        }
        let cut = readers.iter().filter(|(_, read, _)| *read != whole).count();
        println!(
            "{reads} readers of an answer of {} KB beside {} clients of {addresses} address(es) that do not read: {cut} cut, {} MB more",
            whole >> 10,
            stalled.len(),
            memory.saturating_sub(before.memory) >> 20
        );
        assert_eq!(cut, 0);
        assert!(memory < before.memory + MAX_MEMORY);
    }
    service.stop();
}
