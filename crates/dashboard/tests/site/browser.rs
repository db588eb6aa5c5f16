//! The dashboard under test, and simulated browsers.

use actix_web::test::{TestRequest, init_service};
use companion_dashboard::{
    Appearance, Dashboard, DashboardSettings, PermissionTexts, PlatformApplication, SigningKeys,
};
use companion_domain::{
    model::{Membership, SecretKey, Span},
    port::{Mutation, Record},
    usecase::UseCases,
};
use companion_http::{Projections, TrustedProxies};
use companion_storage_memory::CodeTerms;
use companion_testkit::{
    api::service::{self, Answer, Faulty},
    over::Over,
    service::Plan,
    use_cases::InMemory,
    world::{a_user, user_id},
};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

/// The origin of the dashboard, as browsers see it.
pub(crate) const URL: &str = "https://dashboard.example";

/// The dashboard, with access to everything behind it.
pub(crate) struct Site {
    pub(crate) memory: InMemory,
    pub(crate) store: Arc<Over<Faulty>>,
    pub(crate) use_cases: UseCases,
    pub(crate) dashboard: Dashboard,
}

/// Typical settings.
pub(crate) fn settings() -> DashboardSettings {
    DashboardSettings {
        url: URL.parse().unwrap(),
        name: "Night Watch".parse().unwrap(),
        invite_url: Some("https://platform.example/invite".parse().unwrap()),
        support_url: Some("https://platform.example/support".parse().unwrap()),
        permissions: PermissionTexts::new(),
        appearance: Appearance::default(),
        platform: Some(PlatformApplication {
            authorize_url: "https://platform.example/oauth2/authorize".parse().unwrap(),
            client_id: "42".to_owned(),
        }),
        cdn_url: "https://cdn.example".parse().unwrap(),
        session_lifetime: Span::from_seconds(1000),
        keys: SigningKeys::new(&SecretKey::new([7; 32]), &[]),
        body_limit: 1000,
        access_log: false,
        tls: false,
        trusted_proxies: TrustedProxies::new(|_| false),
    }
}

impl Site {
    pub(crate) async fn new() -> Rc<Self> {
        Self::with(|_| {}).await
    }

    /// Creates the dashboard with changed settings.
    pub(crate) async fn with(change: impl FnOnce(&mut DashboardSettings)) -> Rc<Self> {
        Self::planned(change, |_| {}).await
    }

    /// Creates the dashboard with changed settings and a changed service behind it.
    pub(crate) async fn planned(
        change: impl FnOnce(&mut DashboardSettings),
        plan: impl FnOnce(&mut Plan),
    ) -> Rc<Self> {
        let service::Service { memory, store, use_cases, api, .. } = service::Service::with(plan).await;
        let projections = Projections::of(&use_cases, memory.ports.scheduler.clone());
        use_cases.dispatcher.catch_up().await.unwrap();
        let mut settings = settings();
        change(&mut settings);
        let dashboard = Dashboard::new(
            &use_cases,
            projections,
            api.sign_ins(),
            memory.ports.clock.clone(),
            memory.ports.entropy.clone(),
            settings,
        );
        Rc::new(Self { memory, store, use_cases, dashboard })
    }

    /// Puts a record, as the bot does.
    pub(crate) async fn put(&self, record: Record) {
        self.write(Mutation::Put(record)).await;
    }

    /// Writes, as the bot does.
    pub(crate) async fn write(&self, mutation: Mutation) {
        self.use_cases.feed.records.write(mutation).await.unwrap();
    }

    pub(crate) async fn send(&self, request: TestRequest) -> Answer {
        service::answer(&init_service(self.dashboard.app()).await, request.to_request()).await
    }

    /// Requests a page without cookies.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(TestRequest::get().uri(path)).await
    }
}

/// Returns the body as text.
pub(crate) fn html(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Returns the text between the first occurrence of `before` and the next of `after`.
#[track_caller]
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let found = text.find(before);
    assert!(found.is_some(), "{before} is not in {text}");
    let rest = &text[found.unwrap() + before.len()..];
    &rest[..rest.find(after).unwrap()]
}

/// A browser that keeps cookies.
pub(crate) struct Browser {
    pub(crate) site: Rc<Site>,
    pub(crate) cookies: RefCell<BTreeMap<String, String>>,
}

impl Browser {
    pub(crate) fn of(site: &Rc<Site>) -> Self {
        Self { site: Rc::clone(site), cookies: RefCell::default() }
    }

    /// Returns a browser in which a user with these guilds is signed in.
    pub(crate) async fn signed_in(site: &Rc<Site>, user: u64, guilds: Vec<Membership>) -> Self {
        let browser = Self::of(site);
        browser.sign_in(user, guilds).await;
        browser
    }

    /// Adds the stored cookies to a request.
    pub(crate) fn with_cookies(&self, request: TestRequest) -> TestRequest {
        let cookies = self.cookies.borrow();
        let cookies: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if cookies.is_empty() { request } else { request.insert_header(("Cookie", cookies.join("; "))) }
    }

    /// Sends a request with the stored cookies, and stores those of the response.
    pub(crate) async fn send(&self, request: TestRequest) -> Answer {
        let answer = self.site.send(self.with_cookies(request)).await;
        for set in answer.headers.get_all("set-cookie") {
            let (pair, attributes) = set.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if attributes.contains("Max-Age=0;") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(TestRequest::get().uri(path)).await
    }

    /// Requests a page, which must exist.
    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", html(&answer));
        html(&answer)
    }

    /// Follows a sign-in link to the platform. Returns the OAuth parameters.
    pub(crate) async fn to_platform(&self, path: &str) -> BTreeMap<String, String> {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 303, "{}", html(&answer));
        let (place, query) = answer.header("location").split_once('?').unwrap();
        assert_eq!(place, "https://platform.example/oauth2/authorize");
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }

    /// Issues a code of a user for this site.
    pub(crate) fn code(&self, user: u64) -> String {
        let redirect = Some(format!("{URL}/callback").parse().unwrap());
        let terms = CodeTerms { redirect, ..CodeTerms::default() };
        self.site.memory.identity.issue_code_for(user_id(user), terms)
    }

    /// Returns from the platform as this user.
    pub(crate) async fn finish_sign_in(&self, state: &str, user: u64) -> Answer {
        self.get(&format!("/callback?code={}&state={state}", self.code(user))).await
    }

    /// Begins a sign-in at this path, and returns from the platform with this query.
    pub(crate) async fn call_back(&self, path: &str, query: &str) -> Answer {
        let parameters = self.to_platform(path).await;
        self.get(&format!("/callback?{query}&state={}", parameters["state"])).await
    }

    /// Begins a sign-in, and returns from the platform as this user.
    pub(crate) async fn try_sign_in(&self, user: u64) -> Answer {
        self.call_back("/sign-in", &format!("code={}", self.code(user))).await
    }

    /// Signs in a user with these guilds.
    pub(crate) async fn sign_in(&self, user: u64, guilds: Vec<Membership>) {
        self.site.memory.identity.put_user(a_user(user), guilds);
        let answer = self.try_sign_in(user).await;
        assert_eq!((answer.status, answer.header("location")), (303, "/guilds"), "{}", html(&answer));
    }

    /// Posts a form from a page of this site.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(form(path, fields).insert_header(("Origin", URL))).await
    }

    /// Returns the form token of a page.
    pub(crate) async fn form_token(&self) -> String {
        between(&self.page("/").await, "name=\"token\" value=\"", "\"").to_owned()
    }
}

/// Returns a site, and a browser in which user 1, who has these guilds, is signed in.
pub(crate) async fn signed_in(guilds: Vec<Membership>) -> (Rc<Site>, Browser) {
    let site = Site::new().await;
    let browser = Browser::signed_in(&site, 1, guilds).await;
    (site, browser)
}

/// Asserts that a page contains all of these.
#[track_caller]
pub(crate) fn assert_shows(page: &str, all: &[&str]) {
    for shown in all {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
}

/// Returns a request with these form fields and without an `Origin`.
pub(crate) fn form(path: &str, fields: &[(&str, &str)]) -> TestRequest {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    TestRequest::post()
        .uri(path)
        .insert_header(("Content-Type", "application/x-www-form-urlencoded"))
        .set_payload(body)
}
