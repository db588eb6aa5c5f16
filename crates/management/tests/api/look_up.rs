//! What the operator looks up.

use super::{delete, put, sample, sync};
use crate::{
    captured_log::listening_to_json,
    faulty::Fault,
    service::{Service, post_code},
};
use actix_web::test::TestRequest;
use companion_domain::{
    model::{Membership, PlatformPermissions},
    port::StoreErrorKind,
};
use companion_testkit::world::{a_membership, a_user, guild_id};
use serde_json::{Value, json};

fn get(path: &str) -> TestRequest {
    TestRequest::get().uri(path)
}

#[actix_web::test]
async fn what_was_put_is_looked_up_and_putting_it_back_changes_nothing() {
    let service = Service::with(|plan| plan.management.body_limit = 100_000).await;
    for (path, first, second) in sample::everything_put() {
        for body in [first, second] {
            service.manage(put(path, &body)).await;
            let stored = service.manage(get(path)).await;
            assert_eq!(stored.header("cache-control"), "no-store");
            let stored = stored.data();
            let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(fields(&stored), fields(&body), "{path}");
            assert_eq!(service.manage(put(path, &stored)).await.counts(), [0, 0, 0], "{path}: {stored}");
        }
    }
    // A key without roles is the same as no key, and order does not matter in a set.
    let mut guild = sample::guild();
    guild["roles"] = json!({"ADMIN": [], "MOD": ["71", "70", "71"], "ERLC_STAFF": ["18446744073709551615"]});
    service.manage(put("/bot/guilds/8", &guild)).await;
    guild["roles"] = json!({"MOD": ["70", "71"], "ERLC_STAFF": ["18446744073709551615"]});
    assert_eq!(service.manage(get("/bot/guilds/8")).await.data(), guild);
    // Anything that is accepted can be put back.
    guild["icon"] = json!("HTTPS://[::1]/a.png");
    service.manage(put("/bot/guilds/8", &guild)).await;
    assert_eq!(service.manage(get("/bot/guilds/8")).await.data(), guild);
}

#[actix_web::test]
async fn what_came_in_a_sync_is_looked_up_too() {
    let service = Service::new().await;
    service.manage(sync("", &sample::world())).await;
    assert_eq!(service.manage(get("/bot/guilds/7/members/5")).await.data(), json!({"roles": ["70"]}));
    assert_eq!(service.manage(get("/bot/plus/5")).await.data(), json!({"guilds": ["7"], "slots": 1}));
    assert_eq!(service.manage(get("/bot/staff/5")).await.data(), json!({"permissions": ["SUPPORT"]}));
    assert_eq!(service.manage(get("/bot/feedback/f")).await.data(), sample::feedback());
    assert_eq!(service.manage(get("/bot/blocked/6")).await.data(), json!({}));
    assert_eq!(service.manage(get("/bot/guilds/7/members/6")).await.data(), json!({"roles": []}));
}

#[actix_web::test]
async fn what_is_not_there_is_not_found() {
    let service = Service::new().await;
    let paths = [
        "/bot/guilds/7",
        "/bot/guilds/7/members/5",
        "/bot/plus/5",
        "/bot/staff/5",
        "/bot/feedback/f",
        "/bot/blocked/6",
    ];
    for path in paths {
        service.manage(get(path)).await.assert_error(404, "not_found");
    }
    service.manage(sync("", &sample::world())).await;
    for path in paths {
        assert_eq!(service.manage(get(path)).await.status, 200, "{path}");
    }
    for path in ["/bot/plus/5", "/bot/staff/5", "/bot/feedback/f", "/bot/blocked/6", "/bot/guilds/7"] {
        service.manage(delete(path)).await;
        service.manage(get(path)).await.assert_error(404, "not_found");
    }
    service.manage(get("/bot/guilds/7/members/5")).await.assert_error(404, "not_found");
}

#[actix_web::test]
async fn an_explanation_says_what_is_shown_and_why() {
    let service = Service::new().await;
    service.manage(sync("", &sample::world())).await;
    let membership =
        Membership { guild: guild_id(7), owner: false, permissions: PlatformPermissions::from_bits(1 << 5) };
    service.call(post_code(&service.code_of(a_user(1), vec![membership]))).await;
    service.memory.clock.advance(std::time::Duration::from_millis(42_500));
    let why = service.manage(get("/bot/guilds/7/why/1")).await.data();
    assert_eq!(
        (&why["listed"], &why["role"], &why["obstacles"]),
        (&json!(true), &json!("Manager"), &json!([]))
    );
    assert_eq!(why["list"], json!({"guilds": 1, "age": 42, "renewable": true}));
    assert_eq!(why["platform"], json!({"owner": false, "administrator": false, "manage_server": true}));
    assert_eq!(why["bot"], json!({"setup": true, "linked": false, "roles": []}));
    assert_eq!(why["plus"], json!({"active": true, "plus": {"userid": "5", "guilds": ["7"], "slots": 1}}));
    let permissions = why["permissions"].as_object().unwrap();
    assert_eq!(permissions.len(), 20);
    let fact = |word: &str| json!({"granted": true, "through": [], "because": word, "roles": []});
    assert_eq!(permissions["MANAGE_SERVER"], fact("platform_manage_server"));
    assert_eq!(permissions["SETUP"], fact("guild_set_up"));
    assert_eq!(permissions["SERVICE_PLUS_GUILD"], fact("guild_has_plus"));
    let through = json!({
        "granted": true, "through": ["ADMIN", "MANAGE_SERVER"], "because": "platform_manage_server", "roles": [],
    });
    assert_eq!(permissions["MOD"], through);
    assert_eq!(
        permissions["FOUNDER"],
        json!({"granted": false, "through": [], "because": null, "roles": []})
    );
    let shown = service.guilds(&service.signed_in(vec![membership]).await).await.data();
    for (name, granted) in shown[0]["permissions"].as_object().unwrap() {
        assert_eq!(&permissions[name]["granted"], granted, "{name}: the list and its explanation agree");
    }
}

#[actix_web::test]
async fn an_explanation_names_the_roles_that_count_and_everything_that_is_in_the_way() {
    let service = Service::new().await;
    service.manage(sync("", &sample::world())).await;
    let why = service.manage(get("/bot/guilds/7/why/5")).await.data();
    assert_eq!((&why["listed"], &why["role"]), (&json!(false), &json!(null)));
    assert_eq!(why["obstacles"], json!(["not_signed_in"]));
    assert_eq!((&why["list"], &why["platform"]), (&json!(null), &json!(null)));
    assert_eq!(why["staff"], json!(["SUPPORT"]));
    let bound = json!({"granted": true, "through": [], "because": "bound_role", "roles": ["70"]});
    assert_eq!(why["permissions"]["MOD"], bound);
    assert_eq!(why["permissions"]["SUPPORT"]["because"], "granted_by_name");
    assert_eq!(why["permissions"]["SERVICE_PLUS_MEMBER"]["because"], "user_has_plus");

    service.call(post_code(&service.code_of(a_user(2), vec![a_membership(7)]))).await;
    let plain = service.manage(get("/bot/guilds/7/why/2")).await.data();
    assert_eq!(plain["obstacles"], json!(["plain_member"]));
    service.manage(TestRequest::put().uri("/bot/blocked/2")).await;
    let nowhere = service.manage(get("/bot/guilds/8/why/2")).await.data();
    assert_eq!(nowhere["obstacles"], json!(["blocked", "not_a_member", "without_bot"]));
    assert_eq!(nowhere["bot"], json!(null));
    assert_eq!(nowhere["plus"]["active"], json!(false));
}

#[actix_web::test]
async fn looking_leaves_no_line_in_the_audit_trail_and_changes_nothing() {
    let service = Service::new().await;
    service.manage(sync("", &sample::world())).await;
    let (lines, _guard) = listening_to_json();
    for path in
        ["/bot/guilds/7", "/bot/guilds/7/members/5", "/bot/guilds/7/why/5", "/bot/plus/5", "/bot/plus/9"]
    {
        service.manage(get(path)).await;
    }
    assert_eq!(lines.take(), "");
    assert_eq!(service.manage(sync("?replace=all", &sample::world())).await.counts(), [0, 0, 0]);
}

#[actix_web::test]
async fn a_store_that_fails_is_not_taken_for_an_empty_one() {
    let service = Service::new().await;
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    for path in ["/bot/blocked/6", "/bot/feedback/f", "/bot/guilds/7/why/5"] {
        service.manage(get(path)).await.assert_error(503, "storage_unavailable");
    }
}
