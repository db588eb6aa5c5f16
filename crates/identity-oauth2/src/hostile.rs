//! Fuzzes the parsers of the platform's responses: each input is parsed or rejected, and none panics.

use crate::{
    token_endpoint,
    wire::{PAGE_SIZE, Page, WireUser, read},
};
use companion_domain::model::{PictureServer, Timestamp};
use companion_testkit::hostile::{Hostile, count};
use oauth2::basic::{BasicErrorResponse, BasicTokenResponse};

const USUAL: u64 = 5000;
/// Inputs per kind of response, in the full run.
const FULL: u64 = 8_000_000;

fn each(what: &str, samples: &[&str], mut reader: impl FnMut(&[u8]) -> bool) {
    let mut hostile = Hostile::new(samples, 1);
    let inputs = count(USUAL, FULL);
    let read = (0..inputs).filter(|_| reader(hostile.bytes())).count();
    println!("hostile: {inputs} answers of the platform, {what}, {read} of them read: no panic");
    assert!(read as u64 > inputs / 20, "{read} of {inputs}");
}

#[test]
fn hostile_users_are_valid_or_rejected() {
    let pictures = PictureServer::new("https://cdn.example/".parse().unwrap());
    let samples = [
        r#"{"id": "190000000000000005", "username": "night_owl", "global_name": "Zoë 🦊", "avatar": "a_0a1b"}"#,
        r#"{"id":"7","username":"s","global_name":null,"avatar":null,"flags":[1,{"deep":null}]}"#,
    ];
    each("users", &samples, |body| {
        let Ok(user) = read::<WireUser>(body).and_then(|user| user.into_user(&pictures)) else {
            return false;
        };
        assert!(user.avatar.as_str().starts_with("https://cdn.example/"), "{}", user.avatar.as_str());
        true
    });
}

#[test]
fn hostile_lists_count_every_row_and_need_an_id_to_continue() {
    let full = format!("[{}]", vec![r#"{"id":"7"}"#; PAGE_SIZE].join(","));
    let samples = [
        r#"[{"id": "190000000000000500", "name": "g", "icon": null, "owner": true, "permissions": "8"}]"#,
        r#"[{"id":"1","permissions":"18446744073709551615"},{"id":"2","owner":false},null]"#,
        "[]",
        "null",
        // Short samples are mutated more, so there are more of them.
        r#"[{"id":"7"}]"#,
        r#"[{"id":"7","owner":null}]"#,
        r#"[{"id":"7","permissions":null}]"#,
        &full,
    ];
    each("lists", &samples, |body| {
        let Ok(page) = Page::read(body) else { return false };
        assert!(page.next_after.is_none() || page.memberships.len() + page.unreadable >= PAGE_SIZE);
        true
    });
}

#[test]
fn hostile_tokens_fit_a_header_or_are_rejected() {
    let now = Timestamp::from_seconds(1_700_000_000).unwrap();
    let samples = [
        r#"{"access_token":"6qrZcUqja7812RVdnEKjpzOL4CvHBFG","token_type":"Bearer","expires_in":604800,"refresh_token":"D43f5y0ahjqew82jZ4NViEr2YafMKhue","scope":"identify guilds"}"#,
        r#"{"access_token":"a","token_type":"bearer"}"#,
        r#"{"access_token":"a","token_type":"bearer","expires_in":18446744073709551615}"#,
    ];
    each("tokens", &samples, |body| {
        let Ok(answer) = serde_json::from_slice::<BasicTokenResponse>(body) else { return false };
        let Ok(tokens) = token_endpoint::read(&answer, now) else { return false };
        assert!(tokens.access.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(tokens.expires_at >= now);
        true
    });
    let samples = [r#"{"error": "invalid_grant", "error_description": "Invalid \"code\" in request."}"#];
    each("errors", &samples, |body| serde_json::from_slice::<BasicErrorResponse>(body).is_ok());
}
