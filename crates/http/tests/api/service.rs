//! The service under test.

use crate::{answer::Answer, faulty::Faulty};
use actix_web::test::{TestRequest, init_service, try_call_service};
use companion_domain::{
    model::{Membership, PictureServer, User, UserId},
    usecase::{ReportStatus, ShowTeam, SignInRequest},
};
use companion_http::{BuildInfo, Origin, Projections, PublicApi, PublicSettings, Redirects, UseCases};
use companion_testkit::{
    use_cases::{self, InMemory, Settings},
    world::a_user,
};
use std::sync::Arc;

/// The origin whose pages may sign users in.
pub(crate) const DASHBOARD: &str = "https://dashboard.example";
/// The largest body that is read.
pub(crate) const BODY_LIMIT: usize = 1000;

/// What a test may change before the service is made.
pub(crate) struct Setup {
    pub(crate) memory: InMemory,
    pub(crate) store: Arc<Faulty>,
    pub(crate) rules: Settings,
    pub(crate) settings: PublicSettings,
    pub(crate) loaded: bool,
}

/// The service, and a hold on everything behind it.
pub(crate) struct Service {
    pub(crate) memory: InMemory,
    pub(crate) store: Arc<Faulty>,
    pub(crate) use_cases: use_cases::UseCases,
    pub(crate) api: PublicApi,
}

impl Service {
    /// The service with nothing in it.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The service after a change to its making.
    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let mut memory = InMemory::new();
        let store = Arc::new(Faulty::over(Arc::clone(&memory.storage)));
        memory.ports.blocked = store.clone();
        memory.ports.feedback = store.clone();
        memory.ports.sessions = store.clone();
        memory.ports.spent_codes = store.clone();
        memory.ports.team = store.clone();
        memory.ports.telemetry = store.clone();
        let mut setup =
            Setup { memory, store, rules: Settings::default(), settings: settings(), loaded: true };
        change(&mut setup);
        let Setup { mut memory, store, rules, settings, loaded } = setup;

        let projections = Projections::new(
            Arc::new(ShowTeam { roster: memory.ports.team.clone(), categories: rules.categories.clone() }),
            Arc::new(ReportStatus {
                telemetry: memory.ports.telemetry.clone(),
                clock: memory.ports.clock.clone(),
                silent_after: rules.silent_after,
            }),
        );
        memory.ports.followers.push(projections.clone());
        let use_cases = memory.ports.use_cases(rules);
        if loaded {
            use_cases.following.catch_up().await.unwrap();
        }
        let (clock, entropy) = (memory.ports.clock.clone(), memory.ports.entropy.clone());
        let api = PublicApi::new(everything(&use_cases), projections, clock, entropy, settings);
        Self { memory, store, use_cases, api }
    }

    /// Sends a request, in process.
    pub(crate) async fn call(&self, request: TestRequest) -> Answer {
        let app = init_service(self.api.app()).await;
        match try_call_service(&app, request.to_request()).await {
            Ok(response) => Answer::of(response.into_parts().1).await,
            Err(error) => Answer::of(error.error_response()).await,
        }
    }

    /// Reads a path.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(TestRequest::get().uri(path)).await
    }

    /// A code of a user who is in these guilds.
    pub(crate) fn code_of(&self, user: User, guilds: Vec<Membership>) -> String {
        let SignInRequest { code, .. } = self.memory.arrival(user, guilds);
        code.expose().to_owned()
    }

    /// Another code of a user whom the platform knows.
    pub(crate) fn code_again(&self, user: UserId) -> String {
        self.memory.identity.issue_code(user)
    }

    /// A token of user 1, who is in these guilds.
    pub(crate) async fn signed_in(&self, guilds: Vec<Membership>) -> String {
        let code = self.code_of(a_user(1), guilds);
        let answer = self.call(post_code(&code)).await;
        answer.data()["token"].as_str().unwrap().to_owned()
    }

    /// Lists guilds with a token.
    pub(crate) async fn guilds(&self, token: &str) -> Answer {
        self.call(TestRequest::get().uri("/guilds").insert_header(("Token", token))).await
    }
}

/// A sign-in.
pub(crate) fn post_code(code: &str) -> TestRequest {
    TestRequest::post().uri("/auth").insert_header(("Idp-Code", code))
}

pub(crate) fn origin(text: &str) -> Origin {
    text.parse().unwrap()
}

fn settings() -> PublicSettings {
    PublicSettings {
        allowed_origins: vec![origin(DASHBOARD)],
        redirects: Redirects::One("https://dashboard.example/callback".parse().unwrap()),
        sign_out: false,
        body_limit: BODY_LIMIT,
        build: BuildInfo {
            name: "1.2.3".to_owned(),
            branch: "main".to_owned(),
            sha: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            message: "Do one thing".to_owned(),
            author: "Someone".to_owned(),
            timestamp: 1_767_000_000,
        },
        pictures: PictureServer::new("https://cdn.example".parse().unwrap()),
        access_log: false,
    }
}

fn everything(use_cases: &use_cases::UseCases) -> UseCases {
    UseCases {
        sign_in: use_cases.sign_in.clone(),
        authenticate: use_cases.authenticate.clone(),
        list_guilds: use_cases.list_guilds.clone(),
        pick_feedback: use_cases.feedback.clone(),
        show_team: use_cases.team.clone(),
        report_status: use_cases.status.clone(),
        sessions: use_cases.sessions.clone(),
        forget: use_cases.forget.clone(),
        feed: use_cases.feed.clone(),
    }
}
