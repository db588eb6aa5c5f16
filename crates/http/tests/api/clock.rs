//! What callers see when the clock is wrong, or is put right.

use crate::service::Service;
use companion_domain::port::Clock as _;
use companion_testkit::world::{a_guild, a_user, an_ownership};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Service {
    /// Someone sets the clock back.
    fn set_back(&self, length: Duration) {
        let clock = &self.memory.clock;
        clock.set(clock.now().before(length));
    }
}

#[actix_web::test]
async fn a_list_is_refreshed_and_rights_end_though_the_clock_was_set_back() {
    for length in [HOUR, 3 * HOUR, YEAR] {
        let service = Service::new().await;
        service.use_cases.feed.put_guild(&a_guild(7)).await.unwrap();
        let token = service.signed_in(vec![an_ownership(7)]).await;
        service.memory.identity.put_user(a_user(1), vec![]);
        service.set_back(length);
        let answer = service.guilds(&token).await;
        assert_eq!((answer.data(), answer.header("age")), (serde_json::json!([]), "0"), "{length:?}");
    }
}

#[actix_web::test]
async fn no_clock_that_is_set_back_signs_anyone_out() {
    for length in [MINUTE, HOUR, 3 * HOUR, YEAR] {
        let service = Service::new().await;
        let token = service.signed_in(vec![]).await;
        service.set_back(length);
        assert_eq!(service.guilds(&token).await.status, 200, "{length:?}");
        let clock = &service.memory.clock;
        clock.set(clock.now().after(length));
        assert_eq!(service.guilds(&token).await.status, 200, "{length:?}, and put right again");
    }
}
