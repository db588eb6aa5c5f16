//! One client overloads storage at a constant rate, while others read from memory and another client reads from
//! storage.
//!
//! The store delays each session look-up by a fixed time, so its capacity is known and small compared with what this
//! machine can send.

use crate::{
    program::Holdings,
    stage::{InProcess, KEY},
};
use async_trait::async_trait;
use companion_domain::{
    port::{SessionStore, StoreError},
    session::{Session, TokenHash, TokenRing},
};
use companion_testkit::over::{Over, SessionStoreOver};
use memchr::memmem;
use std::{
    collections::VecDeque,
    net::Ipv4Addr,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    runtime::Runtime,
    sync::Semaphore,
    task::JoinSet,
    time::{interval, sleep, sleep_until},
};

/// Concurrent look-ups of the store.
const LOOK_UPS: usize = 4;
/// Queue length that one client may keep standing, see `ConcurrencyLimiter`; and the time after which a queue counts as
/// standing.
const STANDING_QUEUE: f64 = 128.0;
const STANDING_AFTER: Duration = Duration::from_secs(5);
/// Connections that read from memory.
const READERS: usize = 50;
/// The address of the client that shares storage with the overloading one.
const NEIGHBOUR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Below this fraction of the intended rate, the machine is too busy for the result to count.
const MIN_SENT: f64 = 0.9;

/// Multiples of the capacity that are offered.
const TIMES: [u32; 3] = [2, 5, 10];
/// Delay of a look-up.
const LOOK_UP: Duration = Duration::from_millis(10);
/// Enough for a queue that is longer than the standing limit and can still be served in time.
const CONNECTIONS: usize = 1000;
const READS_PER_SECOND: f64 = 500.0;
const MEASURED: Duration = Duration::from_secs(3);

/// A session store that delays look-ups.
struct Slow {
    inner: Arc<dyn SessionStore>,
    places: Semaphore,
}

#[async_trait]
impl SessionStoreOver for Slow {
    fn sessions(&self) -> &dyn SessionStore {
        &*self.inner
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let _place = self.places.acquire().await.map_err(StoreError::unavailable)?;
        sleep(LOOK_UP).await;
        self.inner.find(id).await
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Served,
    Refused,
    /// Any other outcome, such as a timeout.
    Failed,
}

#[derive(Default)]
struct Outcomes(Vec<(Outcome, Duration)>);

impl Outcomes {
    fn count(&self, outcome: Outcome) -> usize {
        self.0.iter().filter(|(one, _)| *one == outcome).count()
    }

    /// Returns the given percentile of the durations with this outcome.
    fn time(&self, outcome: Outcome, percent: usize) -> Duration {
        let mut times: Vec<_> =
            self.0.iter().filter(|(one, _)| *one == outcome).map(|(_, time)| *time).collect();
        times.sort_unstable();
        times.get(times.len() * percent / 100).copied().unwrap_or_default()
    }
}

/// A connection that sends requests and reads responses.
struct Caller {
    address: String,
    from: Ipv4Addr,
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Caller {
    async fn new(address: &str, from: Ipv4Addr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        let stream = socket.connect(address.parse().unwrap()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { address: address.to_owned(), from, stream, bytes: Vec::new() }
    }

    async fn ask(&mut self, request: &str, served: u16) -> (Outcome, Duration) {
        let begun = Instant::now();
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.bytes.clear();
        let end = loop {
            if let Some(end) = answer_end(&self.bytes) {
                break end;
            }
            assert_ne!(self.stream.read_buf(&mut self.bytes).await.unwrap(), 0, "the connection was cut");
        };
        let took = begun.elapsed();
        let text = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
        let status: u16 = text[9..12].parse().unwrap();
        if text.contains("\r\nconnection: close") {
            *self = Self::new(&self.address, self.from).await;
        }
        let outcome = if status == served {
            Outcome::Served
        } else if status == 503 && text.contains("overloaded") && text.contains("\r\nretry-after: ") {
            Outcome::Refused
        } else {
            Outcome::Failed
        };
        (outcome, took)
    }
}

fn answer_end(bytes: &[u8]) -> Option<usize> {
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let head = memmem::find(bytes, b"\r\n\r\n")? + 4;
    let digits = &bytes[memmem::find(bytes, LENGTH)? + LENGTH.len()..];
    let length: usize =
        std::str::from_utf8(digits.split(|byte| *byte == b'\r').next()?).ok()?.parse().ok()?;
    (bytes.len() >= head + length).then_some(head + length)
}

/// A kind of request, its rate, and its number of connections.
struct Load {
    request: Request,
    served: u16,
    per_second: f64,
    connections: usize,
    from: Ipv4Addr,
}

type Request = Arc<dyn Fn() -> String + Send + Sync>;

impl Load {
    /// Sends at a constant rate, whether or not earlier requests were answered, until `over` is set. Returns the
    /// outcomes within `window`, and how many requests were skipped because every connection was busy.
    async fn play(self, address: &str, window: Range<Instant>, over: &AtomicBool) -> (Outcomes, u64) {
        let Self { request, served, per_second, connections, from } = self;
        // Round-robin, because idle connections are cut off.
        let mut idle = VecDeque::new();
        for _ in 0..connections {
            idle.push_back(Caller::new(address, from).await);
        }
        let idle = Arc::new(Mutex::new(idle));
        let heard = Arc::new(Mutex::new(Outcomes::default()));
        let (mut sent, mut unsent, mut asking) = (0.0, 0, JoinSet::new());
        let (begun, mut tick) = (Instant::now(), interval(Duration::from_millis(1)));
        while !over.load(Relaxed) {
            tick.tick().await;
            while sent < begun.elapsed().as_secs_f64() * per_second {
                sent += 1.0;
                let Some(mut caller) = idle.lock().unwrap().pop_front() else {
                    unsent += u64::from(window.contains(&Instant::now()));
                    continue;
                };
                let (request, idle, heard) = (request(), Arc::clone(&idle), Arc::clone(&heard));
                let window = window.clone();
                asking.spawn(async move {
                    let outcome = caller.ask(&request, served).await;
                    if window.contains(&Instant::now()) {
                        heard.lock().unwrap().0.push(outcome);
                    }
                    idle.lock().unwrap().push_back(caller);
                });
            }
            while asking.try_join_next().is_some_and(|done| done.is_ok()) {}
        }
        while let Some(done) = asking.join_next().await {
            done.unwrap();
        }
        let outcomes = std::mem::take(&mut *heard.lock().unwrap());
        (outcomes, unsent)
    }
}

/// Returns the throughput of the store with just enough concurrent requests to keep it busy.
async fn capacity(address: &str, request: &Request, measured: Duration) -> f64 {
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..LOOK_UPS * 4 {
        let mut caller = Caller::new(address, Ipv4Addr::LOCALHOST).await;
        let request = Arc::clone(request);
        callers.spawn(async move {
            let mut served = 0_u32;
            while begun.elapsed() < measured {
                assert!(caller.ask(&request(), 401).await.0 == Outcome::Served);
                served += 1;
            }
            served
        });
    }
    let served: u32 = callers.join_all().await.into_iter().sum();
    f64::from(served) / begun.elapsed().as_secs_f64()
}

#[test]
#[ignore = "waits until a queue stands: cargo xtask deep overload; `ConcurrencyLimiter` has the rule"]
fn storage_overload_is_refused_at_once_and_isolated() {
    let service = InProcess::start(|adapters| {
        let inner = Arc::clone(&adapters.stores.sessions);
        adapters.stores.sessions = Arc::new(Over(Slow { inner, places: Semaphore::new(LOOK_UPS) }));
    });
    let address = service.public.clone();
    let (ring, next) = (TokenRing::new(&KEY.parse().unwrap(), &[]), AtomicU64::new(0));
    // Validly signed tokens of unknown sessions, each a different one.
    let stored: Request = Arc::new(move || {
        let mut random = [7; 32];
        random[..8].copy_from_slice(&next.fetch_add(1, Relaxed).to_le_bytes());
        let token = ring.issue(&random);
        format!("GET /guilds HTTP/1.1\r\nHost: x\r\nToken: {}\r\n\r\n", token.expose())
    });
    let in_memory: Request = Arc::new(|| "GET /team HTTP/1.1\r\nHost: x\r\n\r\n".to_owned());
    Runtime::new().unwrap().block_on(async {
        let memory = || Holdings::of_this_process().megabytes();
        let memory_before = memory();
        println!("| times | capacity | goodput | refused | not sent | p99 of refusals | served after | failed | \
                  from memory, p99 | another client, refused | recovered after | memory |");
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
        for times in TIMES {
            // Measured again, because the machine may be busier by now.
            let capacity = capacity(&address, &stored, MEASURED).await;
            let over = AtomicBool::new(false);
            // Start measuring when the queue has grown, counts as standing, and has been shortened. At twice the
            // capacity it grows as fast as it is shortened; while it is longer than the limit, all are refused.
            let queued = Duration::from_secs_f64(CONNECTIONS as f64 / capacity);
            let from = Instant::now() + STANDING_AFTER + queued * 2;
            let per_second = capacity * f64::from(times);
            let load = |request: &Request, served, per_second, connections, from| {
                Load { request: Arc::clone(request), served, per_second, connections, from }
            };
            let storm = load(&stored, 401, per_second, CONNECTIONS, Ipv4Addr::LOCALHOST);
            let reads = load(&in_memory, 200, READS_PER_SECOND, READERS, Ipv4Addr::LOCALHOST);
            let neighbour = load(&stored, 401, capacity / 10.0, READERS, NEIGHBOUR);
            let window = from..from + MEASURED;
            let play = |load: Load| load.play(&address, window.clone(), &over);
            let (storm, reads, neighbour) = (play(storm), play(reads), play(neighbour));
            let ending = async {
                sleep_until(window.end.into()).await;
                over.store(true, Relaxed);
                let (memory, ended) = (memory(), Instant::now());
                // A new client waits only for requests that were admitted before.
                let mut caller = Caller::new(&address, Ipv4Addr::LOCALHOST).await;
                while caller.ask(&stored(), 401).await.0 != Outcome::Served {}
                (memory, ended.elapsed())
            };
            let ((storm, unsent), (reads, _), (neighbour, _), (memory, recovered)) =
                tokio::join!(storm, reads, neighbour, ending);
            let all_served = storm.count(Outcome::Served) + neighbour.count(Outcome::Served);
            let goodput = all_served as f64 / MEASURED.as_secs_f64() / capacity;
            let (refused, failed) = (storm.count(Outcome::Refused), storm.count(Outcome::Failed));
            let (refusal, served) = (storm.time(Outcome::Refused, 99), storm.time(Outcome::Served, 50));
            println!(
                "| {times} | {capacity:.0}/s | {:.0} % | {refused} | {unsent} | {refusal:.1?} | {served:.1?} | {failed} | {} of {}, {:.1?} | \
                 {} of {} | {recovered:.1?} | \
                 {memory_before} MB, then {memory} MB |",
                goodput * 100.0,
                reads.count(Outcome::Served),
                reads.0.len(),
                reads.time(Outcome::Served, 99),
                neighbour.count(Outcome::Refused),
                neighbour.0.len(),
            );
            assert_eq!(reads.count(Outcome::Served), reads.0.len(), "what is in memory is never refused");
            let starved = (reads.0.len() as f64) < MIN_SENT * READS_PER_SECOND * MEASURED.as_secs_f64();
            assert!(!starved, "the machine is too busy to measure anything");
            assert_eq!(failed, 0, "no request times out");
            let waited = neighbour.count(Outcome::Served);
            assert!(waited > 0 && waited == neighbour.0.len(), "no client is refused for what another one asks");
            assert!(goodput >= 0.9, "{goodput}");
            assert!(refused > 0 && storm.time(Outcome::Refused, 50) * 10 < served, "{refusal:?} and {served:?}");
            let queue = Duration::from_secs_f64(STANDING_QUEUE / capacity);
            assert!(recovered < queue * 3, "{recovered:?}, and a queue takes {queue:?}");
            assert!(memory < memory_before * 2 + 64, "{memory_before} MB, then {memory} MB");
        }
    });
    service.stop();
}
