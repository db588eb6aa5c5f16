//! "In a test" of the guide to adapters.

use actix_web::test::{TestRequest, call_service, init_service};
use async_trait::async_trait;
use companion_domain::{
    model::TeamMember,
    port::{StoreError, TeamRoster},
};
use companion_testkit::{service::TestService, world::a_user};
use std::sync::Arc;

struct NoTeam;

#[async_trait]
impl TeamRoster for NoTeam {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(Arc::new([]))
    }
}

#[actix_web::test]
async fn a_user_signs_in_while_the_team_is_away() -> std::io::Result<()> {
    let service = TestService::with(|plan| {
        let stores = &mut plan.memory.ports.stores;
        *stores = stores.clone().with_team(Arc::new(NoTeam));
    })
    .await;
    let code = service.memory.arrival(a_user(1), vec![]).code;
    let app = init_service(service.public.app()).await;
    let request = TestRequest::post().uri("/auth").insert_header(("Idp-Code", code.expose()));
    assert_eq!(call_service(&app, request.to_request()).await.status(), 200);

    let running = service.listen()?; // the same on a port of its own
    println!("http://{}", running.addr());
    running.stop().await
}
