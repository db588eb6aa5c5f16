//! The contract of an [`IdentityProvider`], with a platform that the test controls.

use super::{
    Fresh,
    sample::{BEYOND_SIGNED, LOTS, awkward_names, membership, user_id},
};
use crate::world::a_user;
use async_trait::async_trait;
use companion_domain::{
    model::{
        CodeVerifier, IdpCode, Membership, NamedGuild, PlatformGuilds, PlatformTokens, Secret, User, UserId,
        WebUrl,
    },
    port::{ClientMark, CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider, Reputation},
};
use companion_storage_memory::MemoryIdentity;
use std::{error::Error, sync::Arc};

pub use companion_storage_memory::CodeTerms;

/// A provider, and control of its platform.
pub struct ProviderOnPlatform {
    /// The provider.
    pub provider: Arc<dyn IdentityProvider>,
    /// The platform behind it.
    pub platform: Arc<dyn PlatformHold>,
}

/// Actions on the platform itself: those of users with their browsers, and the passing of time.
#[async_trait]
pub trait PlatformHold: Send + Sync {
    /// Redirects a user, who is in these guilds, with a code on these terms. Each guild is named `Guild` and its id, and
    /// has no icon. If the terms have a verifier, the sign-in began with its challenge.
    async fn arrival(&self, user: &User, guilds: &[Membership], terms: CodeTerms) -> IdpCode;

    /// Expires the user's access tokens. Refresh tokens still work.
    async fn expire_access(&self, user: UserId);
}

#[async_trait]
impl PlatformHold for MemoryIdentity {
    async fn arrival(&self, user: &User, guilds: &[Membership], terms: CodeTerms) -> IdpCode {
        self.put_user(user.clone(), guilds.to_vec());
        self.issue_code_for(user.id, terms).parse().unwrap()
    }

    async fn expire_access(&self, user: UserId) {
        Self::expire_access(self, user);
    }
}

suite! {
    /// Generates one test per behaviour of an `IdentityProvider`. It needs control of the platform: see
    /// `conformance::identity_provider`.
    identity_provider_conformance($): identity_provider, ProviderOnPlatform;
    exchanges_a_code_for_tokens_of_its_user,
    ready_to_exchange_consumes_nothing,
    a_wrong_code_is_a_bad_grant,
    a_code_with_a_challenge_needs_its_verifier,
    a_code_with_missing_scopes_is_reported_and_spent,
    accepts_scopes_in_any_order_and_additional_ones,
    lists_and_names_every_guild_once,
    refreshed_tokens_work,
    revoking_ends_the_whole_authorisation,
    errors_never_contain_codes_or_tokens,
    nothing_is_cached_about_tokens_or_users,
}

const CLIENT: ClientMark = ClientMark(1);

fn redirect() -> WebUrl {
    "https://dashboard.example/callback".parse().unwrap()
}

/// Returns terms with the redirect only.
fn plain() -> CodeTerms {
    CodeTerms { redirect: Some(redirect()), ..CodeTerms::default() }
}

/// Redirects user 1, who is in no guild, with a code that grants only these scopes.
async fn arrive_granting(fresh: &Fresh<Port>, scope: &str) -> IdpCode {
    let terms = CodeTerms { scope: Some(scope.to_owned()), ..plain() };
    fresh.one.platform.arrival(&a_user(1), &[], terms).await
}

fn verifier(letter: &str) -> CodeVerifier {
    letter.repeat(43).parse().unwrap()
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn kind<T>(result: Result<T, IdentityError>) -> Option<IdentityErrorKind> {
    result.err().map(|error| error.kind)
}

async fn arrive(fresh: &Fresh<Port>, user: u64, guilds: &[Membership]) -> IdpCode {
    fresh.one.platform.arrival(&a_user(user), guilds, plain()).await
}

async fn exchange(fresh: &Fresh<Port>, code: &IdpCode) -> Result<PlatformTokens, IdentityError> {
    fresh.one.provider.exchange(&CodeExchange::new(code.clone(), redirect())).await
}

async fn signed_in(fresh: &Fresh<Port>, user: u64, guilds: &[Membership]) -> PlatformTokens {
    let code = arrive(fresh, user, guilds).await;
    exchange(fresh, &code).await.unwrap()
}

/// Returns the memberships of the first user.
async fn memberships(fresh: &Fresh<Port>, tokens: &PlatformTokens) -> Vec<Membership> {
    fresh.one.provider.guilds(user_id(1), &tokens.access).await.unwrap().memberships
}

async fn exchanges_a_code_for_tokens_of_its_user(fresh: &Fresh<Port>) {
    let named = (1..).zip(awkward_names()).map(|(number, name)| User { name, ..a_user(number) });
    for expected in [BEYOND_SIGNED + 1, u64::MAX].map(a_user).into_iter().chain(named) {
        let code = fresh.one.platform.arrival(&expected, &[], plain()).await;
        let tokens = exchange(fresh, &code).await.unwrap();
        let user = fresh.one.provider.user(CLIENT, &tokens.access).await.unwrap();
        assert_eq!((user.id, user.username, user.name), (expected.id, expected.username, expected.name));
    }
}

async fn a_wrong_code_is_a_bad_grant(fresh: &Fresh<Port>) {
    let spent = arrive(fresh, 1, &[]).await;
    assert!(exchange(fresh, &spent).await.is_ok());
    for code in [spent, "made-up".parse().unwrap()] {
        assert_eq!(kind(exchange(fresh, &code).await), Some(IdentityErrorKind::BadGrant));
    }
    let code = arrive(fresh, 1, &[]).await;
    let elsewhere = "https://elsewhere.example/callback".parse().unwrap();
    let refused = fresh.one.provider.exchange(&CodeExchange::new(code, elsewhere)).await;
    assert_eq!(kind(refused), Some(IdentityErrorKind::BadGrant));
}

/// It ends no authorisation.
async fn a_code_with_missing_scopes_is_reported_and_spent(fresh: &Fresh<Port>) {
    let tokens = signed_in(fresh, 1, &[]).await;
    for scope in ["identify", "guilds", "email"] {
        let code = arrive_granting(fresh, scope).await;
        assert_eq!(kind(exchange(fresh, &code).await), Some(IdentityErrorKind::ScopeMissing), "{scope}");
        assert_eq!(kind(exchange(fresh, &code).await), Some(IdentityErrorKind::BadGrant), "{scope}");
    }
    assert_eq!(fresh.one.provider.user(CLIENT, &tokens.access).await.unwrap().id, user_id(1));
}

/// More pages than an adapter might stop at, the last one not full, whatever the user may do there. Fetching them with
/// the user gives the same.
async fn lists_and_names_every_guild_once(fresh: &Fresh<Port>) {
    let many: Vec<_> = (1..=LOTS)
        .map(|number| membership((number << 22) + number, number % 50 == 0, number << 40 | 0x28))
        .chain([membership(u64::MAX, false, (1 << 52) | 8)])
        .collect();
    for (id, guilds) in [(1, many.as_slice()), (2, &[])] {
        let tokens = signed_in(fresh, id, guilds).await;
        let alone = fresh.one.provider.guilds(user_id(id), &tokens.access).await.unwrap();
        let together = fresh.one.provider.user_with_guilds(CLIENT, &tokens.access).await.unwrap();
        assert_eq!(together.user, fresh.one.provider.user(CLIENT, &tokens.access).await.unwrap());
        for PlatformGuilds { mut memberships, mut names } in [alone, together.guilds.unwrap()] {
            memberships.sort_by_key(|membership| membership.guild);
            assert_eq!(memberships, guilds);
            names.sort_by_key(|named| named.guild);
            let named = |membership: &Membership| NamedGuild {
                guild: membership.guild,
                name: format!("Guild {}", membership.guild).parse().unwrap(),
                icon: None,
            };
            assert_eq!(names, guilds.iter().map(named).collect::<Vec<_>>());
        }
    }
}

/// Returns what each use of an access token reports.
async fn refused(fresh: &Fresh<Port>, access: &Secret) -> [Option<IdentityErrorKind>; 3] {
    let provider = &fresh.one.provider;
    [
        kind(provider.user(CLIENT, access).await),
        kind(provider.guilds(user_id(1), access).await),
        kind(provider.user_with_guilds(CLIENT, access).await),
    ]
}

async fn revoking_ends_the_whole_authorisation(fresh: &Fresh<Port>) {
    let provider = &fresh.one.provider;
    let other = signed_in(fresh, 3, &[]).await;
    for user in [1, 2] {
        let tokens = signed_in(fresh, user, &[]).await;
        let refresh = tokens.refresh.unwrap();
        // Revoking either of the two tokens ends both.
        let given = if user == 1 { &tokens.access } else { &refresh };
        provider.revoke(given).await.unwrap();
        assert_eq!(refused(fresh, &tokens.access).await, [Some(IdentityErrorKind::TokenRefused); 3]);
        for dead in [&refresh, &secret("made-up")] {
            let again = provider.refresh(user_id(user), dead).await;
            assert_eq!(kind(again), Some(IdentityErrorKind::BadGrant));
        }
        for dead in [&tokens.access, &secret("made-up")] {
            provider.revoke(dead).await.unwrap();
        }
    }
    assert_eq!(provider.user(CLIENT, &other.access).await.unwrap().id, user_id(3), "and no other");
}

async fn ready_to_exchange_consumes_nothing(fresh: &Fresh<Port>) {
    let code = arrive(fresh, 1, &[]).await;
    for _ in 0..1000 {
        for standing in [Reputation::Good, Reputation::Doubtful] {
            assert!(fresh.one.provider.ready_to_exchange(standing).is_ok());
        }
    }
    assert!(exchange(fresh, &code).await.is_ok());
}

async fn a_code_with_a_challenge_needs_its_verifier(fresh: &Fresh<Port>) {
    let (right, wrong) = (verifier("v"), verifier("w"));
    for (sent, accepted) in [(Some(right.clone()), true), (Some(wrong), false), (None, false)] {
        let terms = CodeTerms { verifier: Some(right.clone()), ..plain() };
        let code = fresh.one.platform.arrival(&a_user(1), &[], terms).await;
        let expected = if accepted { None } else { Some(IdentityErrorKind::BadGrant) };
        let exchange = CodeExchange { verifier: sent, ..CodeExchange::new(code, redirect()) };
        assert_eq!(kind(fresh.one.provider.exchange(&exchange).await), expected);
    }
}

async fn accepts_scopes_in_any_order_and_additional_ones(fresh: &Fresh<Port>) {
    for scope in ["guilds identify", "email guilds connections identify"] {
        let code = arrive_granting(fresh, scope).await;
        let tokens = exchange(fresh, &code).await.unwrap();
        assert_eq!(memberships(fresh, &tokens).await, [], "{scope}");
    }
}

async fn refreshed_tokens_work(fresh: &Fresh<Port>) {
    let mut tokens = signed_in(fresh, 1, &[membership(5, false, 8)]).await;
    for _ in 0..3 {
        fresh.one.platform.expire_access(user_id(1)).await;
        tokens = fresh.one.provider.refresh(user_id(1), &tokens.refresh.unwrap()).await.unwrap();
        assert_eq!(fresh.one.provider.user(CLIENT, &tokens.access).await.unwrap().id, user_id(1));
        assert_eq!(memberships(fresh, &tokens).await, [membership(5, false, 8)]);
    }
}

/// Returns everything that an error prints.
fn words<T>(result: Result<T, IdentityError>) -> String {
    let error = result.err().unwrap();
    let mut words = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    words
}

async fn errors_never_contain_codes_or_tokens(fresh: &Fresh<Port>) {
    const TELLTALE: &str = "telltale-0123456789";
    let (code, token) = (TELLTALE.parse().unwrap(), secret(TELLTALE));
    for words in [
        words(exchange(fresh, &code).await),
        words(fresh.one.provider.user(CLIENT, &token).await),
        words(fresh.one.provider.guilds(user_id(1), &token).await),
        words(fresh.one.provider.refresh(user_id(1), &token).await),
    ] {
        assert!(!words.contains(TELLTALE), "{words}");
    }
}

async fn nothing_is_cached_about_tokens_or_users(fresh: &Fresh<Port>) {
    let [first, second] = [vec![membership(5, false, 8)], vec![membership(6, true, 0)]];
    let tokens = signed_in(fresh, 1, &first).await;
    assert_eq!(fresh.one.provider.user(CLIENT, &tokens.access).await.unwrap().id, user_id(1));
    assert_eq!(memberships(fresh, &tokens).await, first);
    let later = signed_in(fresh, 1, &second).await;
    assert_eq!(memberships(fresh, &later).await, second, "as they are now");
    fresh.one.platform.expire_access(user_id(1)).await;
    for access in [&tokens.access, &later.access, &secret("made-up")] {
        assert_eq!(refused(fresh, access).await, [Some(IdentityErrorKind::TokenRefused); 3]);
    }
}
