//! Writes of the bot, and what the operator reads.

use crate::{
    delete, put,
    sample::{self, everything_put, guild, heartbeat},
    service::{Fault, Service, post_code},
    sync,
};
use actix_web::test::TestRequest;
use companion_domain::model::{Membership, PlatformPermissions};
use companion_testkit::world::{a_membership, a_user, guild_id};
use serde_json::{Value, json};
use std::time::Duration;

/// Returns the names of the fields of an object.
fn fields(value: &Value) -> Vec<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[actix_web::test]
async fn changes_report_their_tally_and_what_is_stored_can_be_written_back() {
    let service = Service::with(|plan| plan.management.body_limit = 100_000).await;
    for (path, body, other) in everything_put() {
        for (body, tally) in [(body, [1, 0, 0]), (other, [0, 1, 0])] {
            assert_eq!(service.manage(put(path, &body)).await.counts(), tally, "{path}");
            assert_eq!(service.manage(put(path, &body)).await.counts(), [0, 0, 0], "{path}");
            let stored = service.manage(get(path)).await;
            assert_eq!(stored.header("cache-control"), "no-store");
            let stored = stored.data();
            assert_eq!(fields(&stored), fields(&body), "{path}");
            assert_eq!(service.manage(put(path, &stored)).await.counts(), [0, 0, 0], "{path}: {stored}");
        }
    }
    for (path, ..) in everything_put().into_iter().rev() {
        assert_eq!(service.manage(delete(path)).await.counts(), [0, 0, 1], "{path}");
        if path.contains("/members/") {
            continue;
        }
        let again = service.manage(delete(path)).await;
        assert_eq!(again.counts(), [0, 0, 0], "{path}");
        assert_eq!(again.header("cache-control"), "no-store");
    }
}

#[actix_web::test]
async fn body_ids_must_equal_those_of_the_path() {
    let service = Service::new().await;
    service.manage(put("/bot/guilds/7", &guild())).await;
    let mut bodies: Vec<_> = everything_put().into_iter().map(|(path, body, _)| (path, body)).collect();
    bodies.push(("/bot/clusters/a-Z_9/heartbeat", heartbeat("0", 1.0, 1.0)));
    let names: [&[(&str, &str)]; 8] = [
        &[("id", "7")],
        &[("guild", "7"), ("user", "5")],
        &[("guild", "7")],
        &[("user", "5")],
        &[("user", "5")],
        &[("id", "a-Z_9")],
        &[("id", "a-Z_9")],
        &[("cluster", "a-Z_9"), ("id", "a-Z_9")],
    ];
    for ((path, body), names) in bodies.into_iter().zip(names) {
        let mut repeated = body.clone();
        for (name, id) in names {
            repeated[*name] = json!(id);
            let mut wrong = body.clone();
            wrong[*name] = json!("8");
            let refused = service.manage(put(path, &wrong)).await;
            refused.assert_invalid(&[name]);
            assert!(refused.json().to_string().contains(&format!("must be {id}, as in the path")));
            wrong[*name] = json!(8);
            service.manage(put(path, &wrong)).await.assert_invalid(&[name]);
        }
        assert_eq!(service.manage(put(path, &repeated)).await.status, 200, "{path}");
    }
}

#[actix_web::test]
async fn a_change_times_out_on_a_hanging_store() {
    tokio::time::pause();
    let service = Service::new().await;
    service.store.set(Some(Fault::Hangs));
    service.manage(delete("/bot/blocked/5")).await.assert_error(503, "storage_unavailable");
    let list = TestRequest::get().uri("/sessions?user=1");
    service.manage(list).await.assert_error(503, "storage_unavailable");
}

fn get(path: &str) -> TestRequest {
    TestRequest::get().uri(path)
}

#[actix_web::test]
async fn explains_what_a_user_sees() {
    let service = Service::new().await;
    service.manage(sync("", &sample::world())).await;
    let membership =
        Membership { guild: guild_id(7), owner: false, permissions: PlatformPermissions::from_bits(1 << 5) };
    service.call(post_code(&service.code_of(a_user(1), vec![membership]))).await;
    service.memory.clock.advance(Duration::from_millis(42_500));
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
    let fact =
        |word: &str| json!({"granted": true, "through": [], "because": word, "roles": [], "needs": null});
    assert_eq!(permissions["MANAGE_SERVER"], fact("platform_manage_server"));
    assert_eq!(permissions["SETUP"], fact("guild_set_up"));
    assert_eq!(permissions["SERVICE_PLUS_GUILD"], fact("guild_has_plus"));
    let through = json!({
        "granted": true, "through": ["ADMIN", "MANAGE_SERVER"], "because": "platform_manage_server", "roles": [],
        "needs": null,
    });
    assert_eq!(permissions["MOD"], through);
    assert_eq!(
        permissions["FOUNDER"],
        json!({"granted": false, "through": [], "because": null, "roles": [], "needs": {
            "because": ["granted_by_name"], "roles": [], "text": "Needs the bot's team to grant it."}})
    );
    let shown = service.guilds(&service.signed_in(vec![membership]).await).await.data();
    for (name, granted) in shown[0]["permissions"].as_object().unwrap() {
        assert_eq!(&permissions[name]["granted"], granted, "{name}: the list and its explanation agree");
    }
}

#[actix_web::test]
async fn explains_bound_roles_and_all_obstacles() {
    let service = Service::new().await;
    service.manage(sync("", &sample::world())).await;
    let why = service.manage(get("/bot/guilds/7/why/5")).await.data();
    assert_eq!((&why["listed"], &why["role"]), (&json!(false), &json!(null)));
    assert_eq!(why["obstacles"], json!(["not_signed_in"]));
    assert_eq!((&why["list"], &why["platform"]), (&json!(null), &json!(null)));
    assert_eq!(why["staff"], json!(["SUPPORT"]));
    let bound =
        json!({"granted": true, "through": [], "because": "bound_role", "roles": ["70"], "needs": null});
    assert_eq!(why["permissions"]["MOD"], bound);
    assert_eq!(why["permissions"]["SUPPORT"]["because"], "granted_by_name");
    assert_eq!(why["permissions"]["SERVICE_PLUS_MEMBER"]["because"], "user_has_plus");

    service.call(post_code(&service.code_of(a_user(2), vec![a_membership(7)]))).await;
    let plain = service.manage(get("/bot/guilds/7/why/2")).await.data();
    assert_eq!(plain["obstacles"], json!(["plain_member"]));
    let facts = ["bound_role", "owns_guild", "platform_administrator", "platform_manage_server"];
    let text = "Needs the role @Moderator or 71, or Manage Server.";
    let needs = json!({"because": facts, "roles": ["70", "71"], "text": text});
    assert_eq!(plain["permissions"]["MOD"]["needs"], needs);
    service.manage(TestRequest::put().uri("/bot/blocked/2")).await;
    let nowhere = service.manage(get("/bot/guilds/8/why/2")).await.data();
    assert_eq!(nowhere["obstacles"], json!(["blocked", "not_a_member", "without_bot"]));
    assert_eq!(nowhere["bot"], json!(null));
    assert_eq!(nowhere["plus"]["active"], json!(false));
}
