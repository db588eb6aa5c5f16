//! The routes of the platform, each with its own limits.

/// A route of the platform with its own limits, circuit breaker and counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Route {
    /// Exchanges codes and refresh tokens for tokens.
    Token,
    /// Revokes an authorisation.
    Revoke,
    /// Returns the user of a token.
    User,
    /// Returns a page of that user's guilds.
    Guilds,
}

impl Route {
    /// All routes.
    pub const ALL: [Self; 4] = [Self::Token, Self::Revoke, Self::User, Self::Guilds];

    /// Returns its name, for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Revoke => "revoke",
            Self::User => "user",
            Self::Guilds => "guilds",
        }
    }
}

/// One value per route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PerRoute<T> {
    token: T,
    revoke: T,
    user: T,
    guilds: T,
}

impl<T> PerRoute<T> {
    pub(crate) fn new(make: impl Fn() -> T) -> Self {
        Self { token: make(), revoke: make(), user: make(), guilds: make() }
    }

    pub(crate) const fn of(&self, route: Route) -> &T {
        match route {
            Route::Token => &self.token,
            Route::Revoke => &self.revoke,
            Route::User => &self.user,
            Route::Guilds => &self.guilds,
        }
    }

    pub(crate) const fn of_mut(&mut self, route: Route) -> &mut T {
        match route {
            Route::Token => &mut self.token,
            Route::Revoke => &mut self.revoke,
            Route::User => &mut self.user,
            Route::Guilds => &mut self.guilds,
        }
    }
}
