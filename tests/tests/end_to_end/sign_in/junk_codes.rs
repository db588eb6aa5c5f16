//! Honest sign-ins beside a flood of forged codes.
//!
//! The public API with its use cases and the real provider, over real sockets to the development platform. Only time is
//! simulated: a minute passes in steps, and nothing happens between two steps.

use super::{account, alone, hold_time, platform};
use crate::{amount, served::identity};
use actix_web::{
    Error,
    body::to_bytes,
    dev::{Service, ServiceResponse},
    test::{TestRequest, call_service, init_service},
};
use companion_dev_identity::{Control, Route, Running};
use companion_domain::port::Entropy as _;
use companion_http::TrustedProxies;
use companion_testkit::{entropy::SeededEntropy, service::TestService};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    rc::Rc,
    time::Duration,
};
use tokio::task::{JoinSet, LocalSet};

const SECRET: &str = "sample secret";
/// Everything within one step happens at the same time.
const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_SECOND: usize = 10;
const PROXY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);
/// The default number of refused codes per address and minute.
const REFUSED_CODES: NonZeroU32 = NonZeroU32::new(30).unwrap();

/// The other traffic while about one user per second signs in.
struct Scene {
    name: &'static str,
    /// Number of addresses that send forged codes, and codes per second of each.
    junk: (u8, usize),
    /// Whether honest users share the first of these addresses, as behind one backend.
    from_the_same_address: bool,
    /// Seconds of forged codes only, before the first sign-in.
    lead: usize,
    /// Required percentage of successful sign-ins.
    enough: usize,
}

const SCENES: [Scene; 3] = [
    Scene {
        name: "behind one address with 2 junk codes/s",
        junk: (1, 2),
        from_the_same_address: true,
        lead: 0,
        enough: 95,
    },
    Scene {
        name: "the same, after 30 s of junk alone",
        junk: (1, 2),
        from_the_same_address: true,
        lead: 30,
        // Before the first success no client there is known to be honest.
        enough: 75,
    },
    Scene {
        name: "beside 10 addresses with 5 junk codes/s",
        junk: (10, 5),
        from_the_same_address: false,
        lead: 30,
        enough: 95,
    },
];

/// A posted code, and its source address.
struct Post {
    address: Ipv4Addr,
    code: String,
    honest: bool,
}

#[derive(Default)]
struct Outcome {
    honest: BTreeMap<String, usize>,
    junk: BTreeMap<String, usize>,
    token_calls: u64,
}

fn attacker(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, number)
}

/// Whether an event with this rate per second happens in this step.
fn happens(per_second: usize, chance: &SeededEntropy) -> bool {
    let mut bytes = [0; 2];
    chance.fill(&mut bytes);
    usize::from(u16::from_le_bytes(bytes)) * STEPS_PER_SECOND < per_second << 16
}

impl Scene {
    /// Returns the posts of a step, forged codes first.
    fn posts(&self, step: usize, control: &Control, chance: &SeededEntropy) -> Vec<Post> {
        let (addresses, per_second) = self.junk;
        let mut posts = Vec::new();
        for number in (1..=addresses).filter(|_| happens(per_second, chance)) {
            let code = format!("junk-{step}-{number}");
            posts.push(Post { address: attacker(number), code, honest: false });
        }
        if step >= self.lead * STEPS_PER_SECOND && happens(1, chance) {
            let person = u16::try_from(step).unwrap();
            let user = 190_000_000_000_001_000 + u64::from(person);
            control.put_user(account(user));
            let [high, low] = person.to_be_bytes();
            let own = Ipv4Addr::new(203, 0, high, low);
            let address = if self.from_the_same_address { attacker(1) } else { own };
            posts.push(Post { address, code: control.mint_code(user), honest: true });
        }
        posts
    }

    async fn play(&self, seconds: usize) -> Outcome {
        let platform = platform(SECRET);
        let control = platform.control();
        let (service, chance) = (service(&platform).await, SeededEntropy::default());
        let app = Rc::new(init_service(service.public.app()).await);
        let mut outcome = Outcome::default();
        let still = hold_time();
        for step in 0..(self.lead + seconds) * STEPS_PER_SECOND {
            let mut under_way = JoinSet::new();
            for post in self.posts(step, &control, &chance) {
                let request = TestRequest::post()
                    .uri("/auth")
                    .peer_addr(PROXY)
                    .insert_header(("X-Forwarded-For", post.address.to_string()))
                    .insert_header(("Idp-Code", post.code));
                let sent = sent(Rc::clone(&app), request.to_request());
                under_way.spawn_local(async move { (post.honest, sent.await) });
            }
            for (honest, heard) in under_way.join_all().await {
                let heard_by = if honest { &mut outcome.honest } else { &mut outcome.junk };
                *heard_by.entry(heard).or_default() += 1;
            }
            service.memory.clock.advance(STEP);
            tokio::time::advance(STEP).await;
        }
        outcome.token_calls = control.calls(Route::Token);
        drop(still);
        platform.stop().await;
        outcome
    }
}

/// Sends a request, and returns its status and error word.
async fn sent<S, R>(app: Rc<S>, request: R) -> String
where
    S: Service<R, Response = ServiceResponse, Error = Error>,
{
    let answer = call_service(&*app, request).await;
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body()).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let word = body["data"]["error"].as_str().unwrap_or_default();
    format!("{status} {word}").trim().to_owned()
}

async fn service(platform: &Running) -> TestService {
    TestService::with(|plan| {
        plan.memory.ports.identity = identity(platform, SECRET, plan.memory.clock.clone());
        plan.public.trusted_proxies = TrustedProxies::new(|address| address.is_loopback());
        plan.public.refused_codes_per_minute = REFUSED_CODES;
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn junk_codes_leave_honest_sign_ins_working() {
    let _turn = alone().await;
    let seconds = amount("JUNK_SECONDS", 35);
    for scene in SCENES {
        let Outcome { honest, junk, token_calls } = LocalSet::new().run_until(scene.play(seconds)).await;
        let signed_in = honest.get("200").copied().unwrap_or_default();
        let tried: usize = honest.values().sum();
        println!("{:<40} {signed_in:>3} of {tried} signed in {honest:?}", scene.name);
        println!("{:<40} junk {junk:?}, {token_calls} token calls", "");
        assert!(signed_in * 100 >= tried * scene.enough, "{}: {signed_in} of {tried}", scene.name);
    }
}
