//! `identity.keep_tokens = false`: nothing of the platform's is kept, and the list is as old as the sign-in.

use super::{
    guild::{Guild, MANAGING},
    stage::{STALE_FOR, Stage, USER, id},
};

const GUILD: Guild = Guild(500);
const NEW: Guild = Guild(501);

#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_the_list_is_as_old_as_the_sign_in_and_the_platform_is_left_alone() {
    let stage = Stage::with(&[("COMPANION_IDENTITY__KEEP_TOKENS", "false")], |_| {}).await;
    stage.reports(GUILD, &[("MOD", 71)]).await;
    stage.reports(NEW, &[]).await;
    let token = stage.arrives(USER, vec![GUILD.joined(false, 1 << 5)]).await;
    let stored = stage.served.adapters.stores.grants.find(id(USER)).await.unwrap().unwrap();
    assert_eq!(stored.content.tokens, None);
    assert!(stored.content.list.is_some());

    let calls = stage.control.all_calls();
    stage.control.set_guilds(USER, vec![NEW.joined(true, 0)]);
    let mut age = 0;
    for length in [STALE_FOR / 1440, STALE_FOR / 2, STALE_FOR * 2] {
        stage.pass(length);
        age += length.as_secs();
        let shown = stage.shown(&token).await;
        assert_eq!((shown.guilds, shown.age), (vec![GUILD.shown("Manager", &MANAGING)], age));
    }
    assert_eq!(stage.control.all_calls(), calls);

    // What the bot says shows all the same, and the next sign-in brings a new list.
    stage.reports_departure(GUILD).await;
    assert!(stage.shown(&token).await.guilds.is_empty());
    stage.signs_in(USER).await;
    let shown = stage.shown(&token).await;
    assert_eq!((shown.guilds, shown.age), (vec![NEW.shown("Owner", &MANAGING)], 0));
    stage.stop().await;
}
