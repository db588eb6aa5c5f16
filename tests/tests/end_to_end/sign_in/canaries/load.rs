//! Everything that can be done with secrets, often, so that each of them passes wherever secrets pass.

use super::garden::Garden;
use crate::served::{Answer, Client, Served};
use companion_dev_identity::{Control, ErrorBody, Fault, Route};
use serde_json::json;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::task::JoinSet;

const CONNECTIONS: usize = 16;

/// One who asks the service, and keeps every answer.
pub(super) struct Caller {
    client: Client,
    garden: Garden,
}

impl Caller {
    async fn new(address: SocketAddr, garden: &Garden) -> Self {
        Self { client: Client::connect(address).await, garden: garden.clone() }
    }

    async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let answer = self.client.send(method, path, headers).await;
        self.garden.heard(&answer);
        answer
    }

    /// Signs in with a verifier of its own.
    async fn sign_in(&mut self, code: &str) -> Answer {
        let verifier = self.garden.canary("verifier");
        self.send("POST", "/auth", &[("Idp-Code", code), ("Idp-Code-Verifier", &verifier)]).await
    }
}

/// Does it so many times, over a few connections.
async fn spread<F, Fut>(address: SocketAddr, garden: &Garden, total: usize, work: F)
where
    F: Fn(Caller, usize) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Caller> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS.min(total) {
        let mut caller = Caller::new(address, garden).await;
        let (next, work) = (Arc::clone(&next), work.clone());
        connections.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    break;
                }
                caller = work(caller, number).await;
            }
        });
    }
    connections.join_all().await;
}

/// Signs users in, and posts each code a second time.
pub(super) async fn sign_ins(
    served: &Served,
    garden: &Garden,
    control: &Control,
    users: &[u64],
    total: usize,
) {
    let (control, users) = (control.clone(), users.to_vec());
    spread(served.public, garden, total, move |mut caller, number| {
        let code = control.mint_code(users[number % users.len()]);
        caller.garden.plant("code", &code);
        async move {
            let first = caller.sign_in(&code).await;
            assert_eq!(first.status, 200, "{}", first.body);
            let second = caller.sign_in(&code).await;
            assert_eq!(second.status, 401, "{}", second.body);
            caller
        }
    })
    .await;
}

/// Has the lists of users' guilds fetched with tokens that were renewed, round by round; then signs the users out, one
/// half on each listener.
pub(super) async fn renewals(
    served: &Served,
    garden: &Garden,
    control: &Control,
    users: &[u64],
    rounds: usize,
    key: &str,
) {
    let mut public = Caller::new(served.public, garden).await;
    let mut tokens = Vec::new();
    for user in users {
        let code = control.mint_code(*user);
        garden.plant("code", &code);
        tokens.push(public.sign_in(&code).await.token());
    }
    let before = control.calls(Route::Token);
    for _ in 0..rounds {
        control.expire_access(None);
        for token in &tokens {
            let listed = public.send("GET", "/guilds", &[("Token", token)]).await;
            assert_eq!(listed.status, 200, "{}", listed.body);
        }
    }
    assert_eq!(control.calls(Route::Token) - before, (rounds * users.len()) as u64);
    let mut management = Caller::new(served.management, garden).await;
    let bearer = format!("Bearer {key}");
    for (number, (user, token)) in users.iter().zip(&tokens).enumerate() {
        let shown =
            management.send("GET", &format!("/sessions?user={user}"), &[("Authorization", &bearer)]).await;
        assert_eq!(shown.status, 200, "{}", shown.body);
        let ended = if number % 2 == 0 {
            public.send("DELETE", "/auth", &[("Token", token)]).await
        } else {
            let headers = [("Authorization", bearer.as_str()), ("Token", token)];
            management.send("POST", "/sessions/sign-out", &headers).await
        };
        assert_eq!(ended.status, 200, "{}", ended.body);
        assert_eq!(public.send("GET", "/guilds", &[("Token", token)]).await.status, 401);
    }
    let forgotten = format!("/users/{}", users[0]);
    assert_eq!(management.send("DELETE", &forgotten, &[("Authorization", &bearer)]).await.status, 200);
    assert_eq!(management.send("GET", "/metrics", &[("Authorization", &bearer)]).await.status, 200);
}

/// Sends codes, tokens and keys that nobody gave out, in and out of place.
pub(super) async fn strangers(served: &Served, garden: &Garden, total: usize) {
    let management = served.management;
    spread(served.public, garden, total, move |mut caller, number| async move {
        let garden = caller.garden.clone();
        let made_up = garden.canary("made-up secret");
        let answer = match number % 10 {
            0 => caller.send("GET", "/guilds", &[("Token", &made_up)]).await,
            1 => {
                caller.send("GET", "/guilds", &[("Token", &format!("cmp_{made_up}{}", &made_up[..16]))]).await
            }
            2 => caller.send("DELETE", "/auth", &[("Token", &made_up)]).await,
            3 => caller.send("GET", &format!("/guilds?token={made_up}"), &[]).await,
            4 => caller.send("POST", &format!("/auth?code={made_up}"), &[]).await,
            5 => caller.send("POST", "/auth", &[("Idp-Code", &made_up), ("Idp-Code", &made_up)]).await,
            6 => {
                let mut there = Caller::new(management, &garden).await;
                there.send("GET", "/metrics", &[("Authorization", &format!("Bearer {made_up}"))]).await
            }
            7 => {
                let endless = made_up.repeat(30);
                caller.send("POST", "/auth", &[("Idp-Code", &endless)]).await
            }
            _ => caller.sign_in(&made_up).await,
        };
        assert!((400..600).contains(&answer.status), "{}", answer.body);
        caller
    })
    .await;
}

/// Signs in at a platform that fails in this way.
pub(super) async fn failing(
    served: &Served,
    garden: &Garden,
    control: &Control,
    route: Route,
    fault: Fault,
    user: u64,
) {
    let before = control.calls(route);
    control.fail(route, fault.clone());
    let code = control.mint_code(user);
    garden.plant("code", &code);
    Caller::new(served.public, garden).await.sign_in(&code).await;
    control.clear_all();
    assert!(control.calls(route) > before, "{fault:?} on {route:?} was not met");
}

/// Every quick way to fail, and answers that repeat secrets, as a platform that says too much would.
pub(super) fn faults(garden: &Garden) -> Vec<Fault> {
    let echo = || garden.canary("echoed secret");
    let status = |status, body| Fault::Status { status, body };
    vec![
        Fault::Closed,
        Fault::Garbage,
        Fault::Truncated,
        Fault::NotJson,
        Fault::WrongShape,
        Fault::Bomb,
        Fault::Huge { bytes: 2 << 20, announced: false },
        Fault::BanPage { status: 403 },
        Fault::BanPage { status: 429 },
        Fault::Limited { retry_after: 5.0, global: false },
        status(401, ErrorBody::Json),
        status(404, ErrorBody::Html),
        status(500, ErrorBody::Json),
        status(503, ErrorBody::Empty),
        Fault::OauthError { error: "invalid_grant".to_owned() },
        Fault::OauthError { error: "invalid_client".to_owned() },
        Fault::OauthError { error: echo() },
        Fault::Redirect { to: format!("http://127.0.0.1:9/?code={}", echo()) },
        Fault::Body { status: 400, json: json!({"error": "invalid_grant", "error_description": echo()}) },
        Fault::Body {
            status: 200,
            json: json!({"access_token": [echo()], "id": echo(), "username": echo()}),
        },
        Fault::Body {
            status: 200,
            json: json!({"access_token": echo(), "token_type": echo(), "id": echo()}),
        },
        Fault::Body {
            status: 200,
            json: json!({"access_token": format!("{}\n", echo()), "token_type": "bearer"}),
        },
        Fault::Body { status: 500, json: json!({"message": echo()}) },
    ]
}
