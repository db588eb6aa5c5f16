//! Changes the server while it runs, from the same process.

use crate::{
    Account, AccountGuild, Client, CodeTerms, Fault, PlannedFault, RateLimit, Route, UserCalls,
    platform::CodeOrigin, state::ServerState,
};
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// Steers a running server: its users, its clock, its faults. Clones steer the same one.
#[derive(Clone)]
pub struct Control(pub(crate) Arc<ServerState>);

impl Control {
    /// Adds an application, or replaces the one with the same id.
    pub fn put_client(&self, client: Client) {
        self.0.platform().put_client(client);
    }

    /// Adds a user, or replaces the one with the same id. Tokens stay as they are.
    pub fn put_user(&self, account: Account) {
        self.0.platform().put_account(account);
    }

    /// Changes the guilds that a user is in, and nothing else. False where nobody knows the user.
    pub fn set_guilds(&self, user: u64, guilds: Vec<AccountGuild>) -> bool {
        self.0.platform().set_guilds(user, guilds)
    }

    /// All users, by id.
    #[must_use]
    pub fn users(&self) -> Vec<Account> {
        self.0.platform().accounts().cloned().collect()
    }

    /// A new code for a user, as if they had just agreed. A user whom nobody knows gets one that is refused.
    #[must_use]
    pub fn mint_code(&self, user: u64) -> String {
        self.mint_code_with(user, CodeTerms::default())
    }

    /// A new code for a user that can only be exchanged on these terms.
    #[must_use]
    pub fn mint_code_with(&self, user: u64, terms: CodeTerms) -> String {
        let now = self.0.clock.now();
        self.0.platform().issue_code(CodeOrigin::minted(user, terms), now)
    }

    /// Moves the server's clock forward.
    pub fn forward(&self, by: Duration) {
        self.0.clock.forward(by);
    }

    /// Makes access tokens invalid ahead of time, of one user or of all. Refresh tokens still work.
    pub fn expire_access(&self, user: Option<u64>) {
        let now = self.0.clock.now();
        self.0.platform().expire_access(user, now);
    }

    /// Ends all tokens of a user, as when they remove the application from their account.
    pub fn end_authorisation(&self, user: u64) {
        self.0.platform().end_authorisation(user);
    }

    /// Whether the user has tokens that could still be used or refreshed.
    #[must_use]
    pub fn is_authorised(&self, user: u64) -> bool {
        self.0.platform().is_authorised(user)
    }

    /// Changes how often one token may ask on one route.
    pub fn limit_rate(&self, limit: Option<RateLimit>) {
        self.0.limits().set(limit);
    }

    /// Makes the route fail in this way, after whatever was planned before, until it is cleared.
    pub fn fail(&self, route: Route, fault: Fault) {
        self.plan(route, PlannedFault { fault, times: None, processed: false });
    }

    /// Makes the route fail in this way so many times, after whatever was planned before.
    pub fn fail_times(&self, route: Route, fault: Fault, times: u32) {
        self.plan(route, PlannedFault { fault, times: Some(times), processed: false });
    }

    /// Plans a fault, after whatever was planned before.
    pub fn plan(&self, route: Route, fault: PlannedFault) {
        self.0.faults.plan(route, fault);
    }

    /// Makes the route work again.
    pub fn clear(&self, route: Route) {
        self.0.faults.clear(route);
    }

    /// Makes everything work again.
    pub fn clear_all(&self) {
        self.0.faults.clear_all();
    }

    /// How often the route was called, whatever came of it.
    #[must_use]
    pub fn calls(&self, route: Route) -> u64 {
        self.0.calls.of(route)
    }

    /// How often each route was called.
    #[must_use]
    pub fn all_calls(&self) -> BTreeMap<Route, u64> {
        self.0.calls.all()
    }

    /// What was asked in a user's name.
    #[must_use]
    pub fn calls_of(&self, user: u64) -> UserCalls {
        self.0.calls.of_user(user)
    }

    /// How often each route answered with each status. A connection that was cut counts as 500.
    #[must_use]
    pub fn answers(&self) -> BTreeMap<(Route, u16), u64> {
        self.0.calls.answers()
    }

    /// How many connections were opened so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.0.calls.connections()
    }

    /// Returns when the route was called this often.
    pub async fn called(&self, route: Route, times: u64) {
        self.0.calls.reached(route, times).await;
    }

    /// Returns when the route has answered this often, whatever it said.
    pub async fn answered(&self, route: Route, times: u64) {
        self.0.calls.answered(route, times).await;
    }

    /// Lets calls of the route wait for their answer until what is returned is dropped.
    #[must_use]
    pub fn hold(&self, route: Route) -> Held {
        self.0.calls.hold(route);
        Held { control: self.clone(), route }
    }
}

/// Keeps calls of a route waiting until it is dropped.
#[derive(Debug)]
pub struct Held {
    control: Control,
    route: Route,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.control.0.calls.release(self.route);
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}
