//! The service under test, over a store that fails on demand, and its responses.

use crate::{
    over::{
        BlockListOver, BotTelemetryOver, FeedbackStoreOver, ListingsOver, Over, RecordsOver,
        SessionStoreOver, SettingsStoreOver, SignInsOver, SpentCodesOver, TeamRosterOver,
    },
    service::{Plan, TestService},
    use_cases::{self, InMemory},
    world::a_user,
};
use actix_web::{
    Error, HttpResponse,
    body::{BodySize, BoxBody, MessageBody, to_bytes},
    dev::{Payload, Service as ActixService, ServiceResponse},
    error::PayloadError,
    http::header::HeaderMap,
    test::{TestRequest, init_service, try_call_service},
    web::Bytes,
};
use async_trait::async_trait;
use companion_domain::{
    model::{Membership, Secret, User, UserId},
    port::{
        BlockList, BotTelemetry, FeedbackStore, Listings, Mutation, Record, Records, SessionStore,
        SettingsStore, SignIns, SpentCodes, StoreError, StoreErrorKind, Stores, TeamRoster,
    },
    usecase::SignInRequest,
};
use companion_http::{Origin, PublicApi, Redirects};
use companion_management::{ManagementApi, ManagementKeys, Readiness, Scope, ScopedKey};
use companion_storage_memory::{IdentityCall, MemoryStorage};
use futures_util::{
    Stream,
    future::{Either, join_all, select},
};
use serde_json::Value;
use std::{
    num::NonZeroU32,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
};

/// The origin that may sign users in.
pub const DASHBOARD: &str = "https://dashboard.example";
/// Body limit, in bytes.
pub const BODY_LIMIT: usize = 1000;
/// Refused codes allowed per client and minute.
pub const REFUSED_CODES: NonZeroU32 = NonZeroU32::new(3).unwrap();

/// The management key with full access.
pub const KEY: &str = "the-management-key";
/// The key with the feed scope only.
pub const FEED_KEY: &str = "the-feed-key";
/// The key with the people scope only.
pub const PEOPLE_KEY: &str = "the-people-key";
/// The key with the metrics scope only.
pub const METRICS_KEY: &str = "the-metrics-key";

type BoxedPayloadStream = Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>>;

/// The service, with access to everything behind it.
pub struct Service {
    pub memory: InMemory,
    pub store: Arc<Over<Faulty>>,
    pub use_cases: use_cases::UseCases,
    pub api: PublicApi,
    pub management: ManagementApi,
}

/// A readiness probe that always fails with this reason.
pub struct Unready(pub &'static str);

#[async_trait]
impl Readiness for Unready {
    async fn check(&self) -> Result<(), String> {
        Err(self.0.to_owned())
    }
}

impl Service {
    /// Creates an empty service.
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Creates a service whose projections are not loaded.
    pub async fn unloaded() -> Self {
        Self::with(|plan| plan.loaded = false).await
    }

    /// Creates a service after a change to its plan. Its store can fail, and its limits are small.
    pub async fn with(change: impl FnOnce(&mut Plan)) -> Self {
        let mut broken = None;
        let service = TestService::with(|plan| {
            let store = Arc::new(Over(Faulty::over(Arc::clone(&plan.memory.storage))));
            Faulty::put_into(&store, &mut plan.memory.ports.stores);
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

    /// Like [`Self::manage`], with a body from a stream.
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

    /// Returns the metrics page.
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

    /// Applies a mutation, as the bot does.
    pub async fn write(&self, mutation: Mutation) {
        self.use_cases.feed.records.write(mutation).await.unwrap();
    }

    /// Sends a GET request to the public API.
    pub async fn get(&self, path: &str) -> Answer {
        self.call(TestRequest::get().uri(path)).await
    }

    /// Issues a code for a user who is in these guilds.
    pub fn code_of(&self, user: User, guilds: Vec<Membership>) -> String {
        let SignInRequest { code, .. } = self.memory.arrival(user, guilds);
        code.expose().to_owned()
    }

    /// Issues another code for a known user.
    pub fn code_again(&self, user: UserId) -> String {
        self.memory.identity.issue_code(user)
    }

    /// Signs in user 1, who is in these guilds, and returns the token.
    pub async fn signed_in(&self, guilds: Vec<Membership>) -> String {
        let code = self.code_of(a_user(1), guilds);
        let answer = self.call(post_code(&code)).await;
        answer.data()["token"].as_str().unwrap().to_owned()
    }

    /// Requests the guilds with a token.
    pub async fn guilds(&self, token: &str) -> Answer {
        self.call(TestRequest::get().uri("/guilds").insert_header(("Token", token))).await
    }
}

/// Creates a key with one scope.
fn scoped(name: &str, key: &str, scope: Scope) -> ScopedKey {
    ScopedKey { name: name.parse().unwrap(), key: Secret::new(key.to_owned()), scopes: [scope].into() }
}

/// Returns a sign-in request.
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

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub length: BodySize,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn of(response: HttpResponse<BoxBody>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status().as_u16(),
            headers: head.headers().clone(),
            length: body.size(),
            body: to_bytes(body).await.unwrap().to_vec(),
        }
    }

    /// Returns a header, or an empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the body, which must be an envelope whose code is the status.
    #[track_caller]
    pub fn json(&self) -> Value {
        let json: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(json["code"], self.status, "{json}");
        assert!(json["message"].as_str().is_some_and(|message| !message.is_empty()), "{json}");
        assert_eq!(self.header("content-type"), "application/json");
        json
    }

    /// Returns the data of a successful response.
    #[track_caller]
    pub fn data(&self) -> Value {
        let mut json = self.json();
        assert_eq!(self.status, 200, "{json}");
        json["data"].take()
    }

    /// Returns the counts of a change: added, changed, removed.
    #[track_caller]
    pub fn counts(&self) -> [u64; 3] {
        let data = self.data();
        assert_eq!(data.as_object().map(serde_json::Map::len), Some(3), "{data}");
        ["added", "changed", "removed"].map(|count| data[count].as_u64().unwrap())
    }

    /// Asserts a rejection of input that names exactly these paths, in any order.
    #[track_caller]
    pub fn assert_invalid(&self, places: &[&str]) {
        let json = self.json();
        assert_eq!((self.status, json["data"]["error"].as_str()), (422, Some("input_invalid")), "{json}");
        let fields = json["data"]["fields"].as_array().unwrap();
        assert!(fields.iter().all(|field| field["message"].as_str().is_some_and(|text| !text.is_empty())));
        let mut named: Vec<_> = fields.iter().map(|field| field["path"].as_str().unwrap()).collect();
        let mut expected = places.to_vec();
        named.sort_unstable();
        expected.sort_unstable();
        assert_eq!(named, expected, "{json}");
    }

    /// Asserts a complete error response.
    #[track_caller]
    pub fn assert_error(&self, status: u16, word: &str) {
        let json = self.json();
        assert_eq!((self.status, json["data"]["error"].as_str()), (status, Some(word)), "{json}");
        assert_eq!(json["data"]["request_id"].as_str(), Some(self.header("x-request-id")));
        assert_eq!(json["data"].as_object().map(serde_json::Map::len), Some(2));
        assert_eq!(self.header("cache-control"), "no-store");
        // Waiting does not help against missing configuration.
        let waits = matches!(status, 429 | 503) && word != "sign_in_not_configured";
        assert_eq!(self.header("retry-after").parse::<u64>().is_ok_and(|wait| wait >= 1), waits);
    }
}

/// A fault of the store.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// Returns an error of this kind.
    Fails(StoreErrorKind),
    /// Never returns.
    Hangs,
    /// Panics.
    Panics,
}

pub struct Faulty {
    inner: Arc<MemoryStorage>,
    fault: Mutex<Option<Fault>>,
}

impl Faulty {
    pub fn over(inner: Arc<MemoryStorage>) -> Self {
        Self { inner, fault: Mutex::default() }
    }

    /// Sets or clears the fault.
    pub fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    async fn working(&self) -> Result<(), StoreError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            None => Ok(()),
            Some(Fault::Fails(kind)) => Err(StoreError::new(kind, "told to fail")),
            Some(Fault::Hangs) => std::future::pending().await,
            Some(Fault::Panics) => panic!("told to panic"),
        }
    }
}

/// Lists the ports that fail.
macro_rules! failing {
    ($($over:ident by $inner:ident for $field:ident: $port:ident;)+) => {
        $(#[async_trait]
        impl $over for Faulty {
            fn $inner(&self) -> &dyn $port {
                &*self.inner
            }

            async fn before(&self) -> Result<(), StoreError> {
                self.working().await
            }
        })+

        impl Faulty {
            /// Replaces these ports by the faulty store.
            fn put_into(store: &Arc<Over<Self>>, stores: &mut Stores) {
                $(stores.$field = store.clone();)+
            }
        }
    };
}

failing! {
    BlockListOver by blocked for blocked: BlockList;
    BotTelemetryOver by telemetry for telemetry: BotTelemetry;
    FeedbackStoreOver by feedback for feedback: FeedbackStore;
    SessionStoreOver by sessions for sessions: SessionStore;
    ListingsOver by listings for stored_listings: Listings;
    RecordsOver by records for records: Records;
    SettingsStoreOver by settings for settings: SettingsStore;
    SignInsOver by sign_ins for sign_ins: SignIns;
    SpentCodesOver by spent_codes for spent_codes: SpentCodes;
    TeamRosterOver by team for team: TeamRoster;
}

/// Creates a service without configured sign-in.
pub async fn unconfigured() -> Service {
    Service::with(|plan| plan.public.redirects = Redirects::NotConfigured).await
}

/// Limit of concurrent sign-ins.
const MAX_SIGN_INS: usize = 1000;

/// Returns the response of a service that is at its limit of concurrent sign-ins.
pub async fn overloaded() -> Answer {
    let service = Service::new().await;
    let app = init_service(service.api.app()).await;
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let post = |index: usize| answer(&app, post_code(&format!("code-{index}")).to_request());
    let mut under_way = pin!(join_all((0..MAX_SIGN_INS).map(post)));
    let one_more = async {
        service.memory.identity.called(IdentityCall::Exchange, MAX_SIGN_INS as u64).await;
        post(MAX_SIGN_INS).await
    };
    let Either::Right((refused, _)) = select(under_way.as_mut(), pin!(one_more)).await else {
        panic!("the others are held")
    };
    drop(held);
    let ended = under_way.await;
    assert!(ended.iter().all(|ended| ended.status == 401), "they went on to their end");
    post(MAX_SIGN_INS).await.assert_error(401, "idp_code_invalid");
    refused
}

/// Creates a service on which this address has exhausted its refused codes.
pub async fn used_up_by(address: &str) -> Service {
    let service = Service::new().await;
    for _ in 0..REFUSED_CODES.get() {
        let code = post_code("made-up").peer_addr(format!("{address}:5000").parse().unwrap());
        service.call(code).await.assert_error(401, "idp_code_invalid");
    }
    service
}
