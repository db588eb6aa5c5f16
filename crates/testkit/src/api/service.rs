//! The service under test.

use super::{answer::Answer, faulty::Faulty};
use crate::{
    service::{Plan, TestService},
    use_cases::{self, InMemory},
    world::a_user,
};
use actix_web::{
    Error,
    body::BoxBody,
    dev::{Payload, Service as ActixService, ServiceResponse},
    error::PayloadError,
    test::{TestRequest, init_service, try_call_service},
    web::Bytes,
};
use async_trait::async_trait;
use companion_domain::{
    model::{Membership, Secret, User, UserId},
    port::{Mutation, Record},
    usecase::SignInRequest,
};
use companion_http::{Origin, PublicApi};
use companion_management::{ManagementApi, ManagementKeys, Readiness, Scope, ScopedKey};
use futures_util::{Stream, stream};
use std::{num::NonZeroU32, pin::Pin, sync::Arc};

/// The origin whose pages may sign users in.
pub const DASHBOARD: &str = "https://dashboard.example";
/// The largest body that is read.
pub const BODY_LIMIT: usize = 1000;
/// How many refused codes one client may send in a minute.
pub const REFUSED_CODES: NonZeroU32 = NonZeroU32::new(3).unwrap();

/// The key of the management API.
pub const KEY: &str = "the-management-key";
/// The key of the bot, which is for the feed alone.
pub const FEED_KEY: &str = "the-feed-key";
/// The key of the support, which is for people alone.
pub const PEOPLE_KEY: &str = "the-people-key";
/// The key of the monitoring, which is for metrics alone.
pub const METRICS_KEY: &str = "the-metrics-key";

type BoxedPayloadStream = Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>>;

/// The service, and a hold on everything behind it.
pub struct Service {
    pub memory: InMemory,
    pub store: Arc<Faulty>,
    pub use_cases: use_cases::UseCases,
    pub api: PublicApi,
    pub management: ManagementApi,
}

/// A service that is not ready, and says why.
pub struct Unready(pub &'static str);

#[async_trait]
impl Readiness for Unready {
    async fn check(&self) -> Result<(), String> {
        Err(self.0.to_owned())
    }
}

impl Service {
    /// The service with nothing in it.
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The service before anything was loaded into memory.
    pub async fn unloaded() -> Self {
        Self::with(|plan| plan.loaded = false).await
    }

    /// The service after a change to its plan. Its store can be told to fail, and its limits are small.
    pub async fn with(change: impl FnOnce(&mut Plan)) -> Self {
        let mut broken = None;
        let service = TestService::with(|plan| {
            let store = Arc::new(Faulty::over(Arc::clone(&plan.memory.storage)));
            store.put_into(&mut plan.memory.ports.stores);
            plan.public.body_limit = BODY_LIMIT;
            plan.public.refused_codes_per_minute = REFUSED_CODES;
            plan.management.body_limit = BODY_LIMIT;
            plan.management.keys =
                ManagementKeys::new(&["an-older-key", KEY].map(|key| Secret::new(key.to_owned()))).with([
                    scoped("bot", FEED_KEY, Scope::Feed),
                    scoped("support", PEOPLE_KEY, Scope::People),
                    scoped("monitoring", METRICS_KEY, Scope::Metrics),
                ]);
            broken = Some(store);
            change(plan);
        });
        let TestService { memory, use_cases, public: api, management } = service.await;
        Self { memory, store: broken.unwrap(), use_cases, api, management }
    }

    /// Sends a request to the public API, in process.
    pub async fn call(&self, request: TestRequest) -> Answer {
        answer(&init_service(self.api.app()).await, request.to_request()).await
    }

    /// Sends a request to the management API, in process and without a key.
    pub async fn call_management(&self, request: TestRequest) -> Answer {
        answer(&init_service(self.management.app()).await, request.to_request()).await
    }

    /// Sends a request to the management API, in process and with the key.
    pub async fn manage(&self, request: TestRequest) -> Answer {
        self.call_management(request.insert_header(("Authorization", format!("Bearer {KEY}")))).await
    }

    /// The same with a body that comes in pieces.
    pub async fn manage_streaming(
        &self,
        request: TestRequest,
        pieces: Vec<Result<Bytes, PayloadError>>,
    ) -> Answer {
        self.manage_stream(request, stream::iter(pieces)).await
    }

    /// The same with a body that comes as it likes.
    pub async fn manage_stream(
        &self,
        request: TestRequest,
        pieces: impl Stream<Item = Result<Bytes, PayloadError>> + 'static,
    ) -> Answer {
        let request = request.insert_header(("Authorization", format!("Bearer {KEY}"))).to_request();
        let pieces: BoxedPayloadStream = Box::pin(pieces);
        let (request, _) = request.replace_payload(Payload::Stream { payload: pieces });
        answer(&init_service(self.management.app()).await, request).await
    }

    /// The page of metrics.
    pub async fn metrics(&self) -> String {
        let answer = self.manage(TestRequest::get().uri("/metrics")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
        assert_eq!(answer.header("cache-control"), "no-store");
        String::from_utf8(answer.body).unwrap()
    }

    /// Puts a record, as the bot does.
    pub async fn put(&self, record: Record) {
        self.write(Mutation::Put(record)).await;
    }

    /// Writes, as the bot does.
    pub async fn write(&self, mutation: Mutation) {
        self.use_cases.feed.records.write(mutation).await.unwrap();
    }

    /// Reads a path.
    pub async fn get(&self, path: &str) -> Answer {
        self.call(TestRequest::get().uri(path)).await
    }

    /// A code of a user who is in these guilds.
    pub fn code_of(&self, user: User, guilds: Vec<Membership>) -> String {
        let SignInRequest { code, .. } = self.memory.arrival(user, guilds);
        code.expose().to_owned()
    }

    /// Another code of a user whom the platform knows.
    pub fn code_again(&self, user: UserId) -> String {
        self.memory.identity.issue_code(user)
    }

    /// A token of user 1, who is in these guilds.
    pub async fn signed_in(&self, guilds: Vec<Membership>) -> String {
        let code = self.code_of(a_user(1), guilds);
        let answer = self.call(post_code(&code)).await;
        answer.data()["token"].as_str().unwrap().to_owned()
    }

    /// Lists guilds with a token.
    pub async fn guilds(&self, token: &str) -> Answer {
        self.call(TestRequest::get().uri("/guilds").insert_header(("Token", token))).await
    }
}

/// A key for one part of the management API.
fn scoped(name: &str, key: &str, scope: Scope) -> ScopedKey {
    ScopedKey { name: name.parse().unwrap(), key: Secret::new(key.to_owned()), scopes: [scope].into() }
}

/// A sign-in.
pub fn post_code(code: &str) -> TestRequest {
    TestRequest::post().uri("/auth").insert_header(("Idp-Code", code))
}

pub fn origin(text: &str) -> Origin {
    text.parse().unwrap()
}

/// Sends a request to an application, for tests that send many.
pub async fn answer<S, R>(app: &S, request: R) -> Answer
where
    S: ActixService<R, Response = ServiceResponse<BoxBody>, Error = Error>,
{
    match try_call_service(app, request).await {
        Ok(response) => Answer::of(response.into_parts().1).await,
        Err(error) => Answer::of(error.error_response()).await,
    }
}
