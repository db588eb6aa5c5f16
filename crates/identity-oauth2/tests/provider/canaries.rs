//! No secret is ever seen: canaries are put into every secret, and everything that can be said is searched for them.

use crate::stage::{ANYONE, Stage, exchange_of, kind, secret, user_id};
use companion_dev_identity::{Client, DripPart, ErrorBody, Fault, Route};
use companion_domain::port::{CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider as _};
use serde_json::json;
use std::{error::Error as _, fmt::Write as _, time::Duration};

const CANARY: &str = "c4n4ry";

fn canary(number: usize) -> String {
    format!("{CANARY}-{number}-0123456789-0123456789-0123456789-0123456789")
}

/// Everything that an error says to anyone who asks.
fn words(error: &IdentityError) -> String {
    let mut words = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(words, " {cause} {cause:?} {cause:#?}");
        source = cause.source();
    }
    words
}

/// Answers that repeat the canary, as a platform that says too much would.
fn talkative() -> Vec<Fault> {
    let text = canary(0);
    vec![
        Fault::Body {
            status: 200,
            json: json!({"access_token": 5, "token_type": text, "id": text, "username": [text]}),
        },
        Fault::Body {
            status: 200,
            json: json!({"access_token": text, "token_type": text, "id": text, "username": text}),
        },
        Fault::Body {
            status: 200,
            json: json!({"access_token": format!("{text}\n"), "token_type": "bearer"}),
        },
        Fault::Body { status: 200, json: json!([{"id": text, "permissions": text, "owner": text}]) },
        Fault::Body { status: 200, json: json!(text) },
        Fault::OauthError { error: text.clone() },
        Fault::Redirect { to: format!("http://127.0.0.1:9/?{text}") },
        Fault::Status { status: 500, body: ErrorBody::Html },
        Fault::Status { status: 401, body: ErrorBody::Json },
        Fault::Limited { retry_after: 1.0, global: false },
        Fault::Closed,
        Fault::Truncated,
        Fault::Garbage,
        Fault::NotJson,
        Fault::Bomb,
        Fault::Huge { bytes: 2 << 20, announced: true },
        Fault::Drip { part: DripPart::Body, every: Duration::from_millis(1) },
    ]
}

#[tokio::test]
async fn no_error_shows_a_code_a_token_or_a_secret() {
    let stage = Stage::with(|settings| {
        settings.client_secret = secret(&canary(1));
        settings.deadlines.call = Duration::from_millis(200);
    });
    stage.control.put_client(Client {
        id: stage.settings.client_id.clone(),
        secret: canary(1),
        redirect_uris: vec![],
    });
    let verifier = Some(canary(3).parse().unwrap());
    let exchange = CodeExchange { verifier, ..exchange_of(canary(2).parse().unwrap()) };
    let token = secret(&canary(4));
    let mut said = String::new();
    let mut errors = 0;
    for fault in talkative() {
        for route in [Route::Token, Route::Revoke, Route::User, Route::Guilds] {
            stage.control.fail(route, fault.clone());
        }
        let provider = stage.another_provider();
        let results = [
            provider.exchange(&exchange).await.map(drop),
            provider.refresh(user_id(), &token).await.map(drop),
            provider.user(ANYONE, &token).await.map(drop),
            provider.guilds(user_id(), &token).await.map(drop),
            provider.revoke(&token).await,
        ];
        for error in results.into_iter().filter_map(Result::err) {
            said += &words(&error);
            errors += 1;
        }
        let _ = write!(said, "{provider:?} {:?}", provider.statistics());
        stage.control.clear_all();
    }
    assert!(errors > 60, "{errors}");
    let mut stage = stage;
    stage.running.refuse_connections().await;
    let unreachable = stage.another_provider().exchange(&exchange).await.unwrap_err();
    assert_eq!(unreachable.kind, IdentityErrorKind::Unreachable);
    said += &words(&unreachable);
    let _ = write!(said, "{:?} {exchange:?} {token:?}", stage.settings);
    assert!(said.contains("refused") && !said.contains(CANARY), "{said}");
    // Nor where we asked: the address of a call can be as telling as its body.
    assert!(!said.contains("/oauth2/token") && !said.contains("/users/"), "{said}");
}

#[tokio::test]
async fn tokens_that_were_given_are_not_shown_either() {
    let stage = Stage::new();
    let answer = json!({"access_token": canary(5), "refresh_token": canary(6), "token_type": "Bearer"});
    stage.control.fail_times(Route::Token, Fault::Body { status: 200, json: answer }, 1);
    let tokens = stage.exchange("any").await.unwrap();
    assert_eq!(tokens.access.expose(), canary(5));
    assert!(!format!("{tokens:?} {:?}", stage.provider).contains(CANARY));
    let refused = stage.provider.user(ANYONE, &tokens.access).await;
    assert!(!format!("{refused:?}").contains(CANARY));
    assert_eq!(kind(refused), IdentityErrorKind::TokenRefused);
}
