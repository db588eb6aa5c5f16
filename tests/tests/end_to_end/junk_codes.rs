//! Honest sign-ins beside a flood of forged codes.
//!
//! The public API with its use cases and the real provider, over real sockets to the development platform. Only time is
//! simulated: a minute passes in steps, and nothing happens between two steps.

use crate::served::{account, identity, owned, start_platform};
use actix_web::test::{TestRequest, init_service};
use companion_dev_identity::{Control, Options};
use companion_http::TrustedProxies;
use companion_identity_oauth2::Deadlines;
use companion_testkit::{api::service::answer, entropy::SeededEntropy, service::TestService};
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    rc::Rc,
    sync::mpsc,
    time::Duration,
};
use tokio::task::{JoinSet, LocalSet, spawn_blocking};

const SECRET: &str = "sample secret";
/// Everything within one step happens at the same time.
const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_SECOND: usize = 10;
/// Duration of a scene after its lead.
const SECONDS: usize = 35;
const PROXY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);
/// The default number of refused codes per address and minute.
const REFUSED_CODES: NonZeroU32 = NonZeroU32::new(30).unwrap();

/// The other traffic while about one user per second signs in.
struct Scene {
    name: &'static str,
    /// Number of addresses that send forged codes, and codes per second of each.
    junk: (u8, u64),
    /// Whether honest users share the first of these addresses, as behind one backend.
    is_shared: bool,
    /// Seconds of forged codes only, before the first sign-in.
    lead: usize,
    /// Required percentage of successful sign-ins.
    enough: usize,
}

/// Before the first success no client behind an address is known to be honest.
const SCENES: [Scene; 3] = [
    Scene { name: "2 junk codes/s of the same address", junk: (1, 2), is_shared: true, lead: 0, enough: 95 },
    Scene { name: "the same, after 30 s of junk alone", junk: (1, 2), is_shared: true, lead: 30, enough: 75 },
    Scene { name: "10 addresses with 5 junk codes/s", junk: (10, 5), is_shared: false, lead: 30, enough: 95 },
];

fn attacker(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, number)
}

/// Whether an event with this rate per second happens in this step.
fn happens(per_second: u64, chance: &SeededEntropy) -> bool {
    chance.below(STEPS_PER_SECOND as u64) < per_second
}

impl Scene {
    /// Returns the address and code of each post of a step, forged codes first, and whether it is honest.
    fn posts(&self, step: usize, control: &Control, chance: &SeededEntropy) -> Vec<(Ipv4Addr, String, bool)> {
        let (addresses, per_second) = self.junk;
        let junk = (1..=addresses).filter(|_| happens(per_second, chance));
        let mut posts: Vec<_> =
            junk.map(|number| (attacker(number), format!("junk-{step}-{number}"), false)).collect();
        if step >= self.lead * STEPS_PER_SECOND && happens(1, chance) {
            let person = u16::try_from(step).unwrap();
            let user = 190_000_000_000_001_000 + u64::from(person);
            control.put_user(account(user, vec![owned(500)]));
            let [high, low] = person.to_be_bytes();
            let own = Ipv4Addr::new(203, 0, high, low);
            let address = if self.is_shared { attacker(1) } else { own };
            posts.push((address, control.mint_code(user), true));
        }
        posts
    }

    /// Returns how often each status and error word was the response to an honest sign-in.
    async fn play(&self) -> BTreeMap<String, usize> {
        let platform = start_platform(SECRET, Options::default());
        let (control, chance) = (platform.control(), SeededEntropy::default());
        let service = TestService::with(|plan| {
            let clock = plan.memory.clock.clone();
            plan.memory.ports.identity = identity(&platform, SECRET, Deadlines::default(), clock);
            plan.public.trusted_proxies = TrustedProxies::new(|address| address.is_loopback());
            plan.public.refused_codes_per_minute = REFUSED_CODES;
        })
        .await;
        let app = Rc::new(init_service(service.public.app()).await);
        let mut honest = BTreeMap::new();
        // Tokio does not advance paused time while a blocking task runs, so none passes while responses are in flight.
        let (still, end) = mpsc::channel::<()>();
        spawn_blocking(move || end.recv());
        for step in 0..(self.lead + SECONDS) * STEPS_PER_SECOND {
            let mut under_way = JoinSet::new();
            for (address, code, is_honest) in self.posts(step, &control, &chance) {
                let request = TestRequest::post()
                    .uri("/auth")
                    .peer_addr(PROXY)
                    .insert_header(("X-Forwarded-For", address.to_string()))
                    .insert_header(("Idp-Code", code));
                let app = Rc::clone(&app);
                under_way.spawn_local(async move {
                    let answer = answer(&*app, request.to_request()).await;
                    (is_honest, format!("{} {}", answer.status, answer.json()["data"]["error"]))
                });
            }
            for (_, heard) in under_way.join_all().await.into_iter().filter(|(is_honest, _)| *is_honest) {
                *honest.entry(heard).or_default() += 1;
            }
            service.memory.clock.advance(STEP);
            tokio::time::advance(STEP).await;
        }
        drop(still);
        platform.stop().await;
        honest
    }
}

#[tokio::test(start_paused = true)]
async fn junk_codes_leave_honest_sign_ins_working() {
    for scene in SCENES {
        let honest = LocalSet::new().run_until(scene.play()).await;
        let signed_in = honest.get("200 null").copied().unwrap_or_default();
        let tried: usize = honest.values().sum();
        println!("{:<40} {signed_in:>3} of {tried} signed in {honest:?}", scene.name);
        assert!(signed_in * 100 >= tried * scene.enough, "{}: {signed_in} of {tried}", scene.name);
    }
}
