//! What changes say they did.

use super::{
    delete, put,
    sample::{everything_put, guild, team_member},
};
use crate::{faulty::Fault, service::Service};
use companion_domain::port::StoreErrorKind;
use serde_json::json;

#[actix_web::test]
async fn a_change_says_what_it_did_and_repeating_it_does_nothing() {
    let service = Service::new().await;
    for (path, body, other) in everything_put() {
        assert_eq!(service.manage(put(path, &body)).await.counts(), [1, 0, 0], "{path}");
        assert_eq!(service.manage(put(path, &body)).await.counts(), [0, 0, 0], "{path}");
        assert_eq!(service.manage(put(path, &other)).await.counts(), [0, 1, 0], "{path}");
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
async fn blocking_is_told_the_same_way() {
    let service = Service::new().await;
    let block = || actix_web::test::TestRequest::put().uri("/bot/blocked/5");
    assert_eq!(service.manage(block()).await.counts(), [1, 0, 0]);
    assert_eq!(service.manage(block()).await.counts(), [0, 0, 0]);
    assert_eq!(service.manage(delete("/bot/blocked/5")).await.counts(), [0, 0, 1]);
    assert_eq!(service.manage(delete("/bot/blocked/5")).await.counts(), [0, 0, 0]);
}

#[actix_web::test]
async fn the_team_is_compared_place_by_place() {
    let service = Service::new().await;
    let (one, two, three) = (team_member("1", "A"), team_member("2", "A"), team_member("1", "B"));
    let mut changed = two.clone();
    changed["position"] = json!(9);
    for (team, counts) in [
        (json!([one, two]), [2, 0, 0]),
        (json!([two, one]), [0, 0, 0]),
        (json!([changed, three]), [1, 1, 1]),
        (json!([]), [0, 0, 2]),
        (json!([]), [0, 0, 0]),
    ] {
        assert_eq!(service.manage(put("/bot/team", &team)).await.counts(), counts, "{team}");
    }
}

#[actix_web::test]
async fn members_belong_to_a_guild_that_is_known() {
    let service = Service::new().await;
    let path = "/bot/guilds/7/members/5";
    let member = json!({"roles": ["70"]});
    service.manage(put(path, &member)).await.assert_error(404, "not_found");
    service.manage(delete(path)).await.assert_error(404, "not_found");
    service.manage(put("/bot/guilds/7", &guild())).await;
    assert_eq!(service.manage(delete(path)).await.counts(), [0, 0, 0]);
    assert_eq!(service.manage(put(path, &member)).await.counts(), [1, 0, 0]);
    assert_eq!(service.manage(put("/bot/guilds/7", &guild())).await.counts(), [0, 0, 0], "members stay");
    assert_eq!(service.manage(put(path, &member)).await.counts(), [0, 0, 0]);
    let gone = service.manage(delete("/bot/guilds/7")).await;
    assert_eq!(gone.counts(), [0, 0, 1], "members that go along are not counted");
    service.manage(put("/bot/guilds/7", &guild())).await;
    assert_eq!(service.manage(put(path, &member)).await.counts(), [1, 0, 0], "but they are gone");
}

#[actix_web::test]
async fn the_ids_of_the_path_may_be_repeated_but_not_contradicted() {
    let service = Service::new().await;
    service.manage(put("/bot/guilds/7", &guild())).await;
    let heartbeat = super::sample::heartbeat("0", 1.0, 1.0);
    let mut cases: Vec<_> = everything_put().into_iter().map(|(path, body, _)| (path, body)).collect();
    cases.push(("/bot/clusters/a-Z_9/heartbeat", heartbeat));
    for (path, body) in cases {
        let names: &[(&str, &str)] = if path.contains("/members/") {
            &[("guild", "7"), ("user", "5")]
        } else if path.contains("/guilds/") {
            &[("id", "7")]
        } else if path.contains("/feedback/") {
            &[("id", "a-Z_9")]
        } else if path.contains("/clusters/") {
            &[("cluster", "a-Z_9"), ("id", "a-Z_9")]
        } else {
            &[("user", "5")]
        };
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
async fn a_store_that_fails_is_told_from_input_that_is_wrong() {
    let service = Service::new().await;
    for (kind, status, word) in [
        (StoreErrorKind::Unavailable, 503, "storage_unavailable"),
        (StoreErrorKind::Conflict, 503, "storage_unavailable"),
        (StoreErrorKind::Corrupt, 500, "internal"),
    ] {
        service.store.set(Some(Fault::Fails(kind)));
        service.manage(delete("/bot/blocked/5")).await.assert_error(status, word);
        service.manage(put("/bot/team", &json!([]))).await.assert_error(status, word);
        service
            .manage(actix_web::test::TestRequest::get().uri("/sessions?user=1"))
            .await
            .assert_error(status, word);
        service.manage(put("/bot/team", &json!({}))).await.assert_invalid(&[""]);
    }
    service.store.set(Some(Fault::Panics));
    service.manage(delete("/bot/blocked/5")).await.assert_error(500, "internal");
}

#[actix_web::test]
async fn a_store_that_does_not_answer_is_not_waited_for_for_ever() {
    tokio::time::pause();
    let service = Service::new().await;
    service.store.set(Some(Fault::Hangs));
    service.manage(delete("/bot/blocked/5")).await.assert_error(503, "storage_unavailable");
    let list = actix_web::test::TestRequest::get().uri("/sessions?user=1");
    service.manage(list).await.assert_error(503, "storage_unavailable");
}
