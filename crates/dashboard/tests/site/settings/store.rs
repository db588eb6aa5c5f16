//! How pages of settings use the store: how often, and while others change the same.

use super::stage::{SectionForm, guild, owner, populate, values};
use crate::browser::{Site, html};
use async_trait::async_trait;
use companion_domain::{
    change::Applied,
    port::{ChangeSettingsError, Listings, Records, SettingsStore, StoreError},
    settings::{Change, Edit, Origin, Stored, Value},
};
use companion_testkit::over::{ListingsOver, Over, RecordsOver, SettingsStoreOver};
use serde_json::json;
use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Counts calls of a port.
pub(crate) struct Counted<T: ?Sized> {
    pub(crate) inner: Arc<T>,
    pub(crate) count: Arc<AtomicUsize>,
}

#[async_trait]
impl ListingsOver for Counted<dyn Listings> {
    fn listings(&self) -> &dyn Listings {
        &*self.inner
    }

    async fn before(&self) -> Result<(), StoreError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait]
impl SettingsStoreOver for Counted<dyn SettingsStore> {
    fn settings(&self) -> &dyn SettingsStore {
        &*self.inner
    }

    async fn before(&self) -> Result<(), StoreError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait]
impl RecordsOver for Counted<dyn Records> {
    fn records(&self) -> &dyn Records {
        &*self.inner
    }

    async fn before(&self) -> Result<(), StoreError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[actix_web::test]
async fn a_page_needs_few_queries_beside_the_listing() {
    let count = Arc::new(AtomicUsize::new(0));
    let site = Site::planned(
        |_| {},
        |plan| {
            let stores = &mut plan.memory.ports.stores;
            let (settings, records) = (Arc::clone(&stores.settings), Arc::clone(&stores.records));
            stores.settings = Arc::new(Over(Counted { inner: settings, count: Arc::clone(&count) }));
            stores.records = Arc::new(Over(Counted { inner: records, count: Arc::clone(&count) }));
        },
    )
    .await;
    populate(&site).await;
    let browser = owner(&site).await;
    for (path, expected) in [("/guilds/7", 3), ("/guilds/7/permissions", 2), ("/guilds/7/history", 4)] {
        count.store(0, Ordering::Relaxed);
        browser.page(path).await;
        assert_eq!(count.load(Ordering::Relaxed), expected, "{path}");
    }
}

#[actix_web::test]
async fn an_old_sign_in_changes_nothing_and_keeps_everything_typed() {
    let site = Site::planned(|_| {}, |plan| plan.rules.keep_tokens = false).await;
    populate(&site).await;
    let browser = owner(&site).await;
    site.memory.clock.advance(Duration::from_secs(3601));
    let mut form = SectionForm::open(&browser, "welcome").await;
    form.fill("value.greeting", &["Mine"]);
    let answer = form.send(&browser).await;
    assert_eq!(answer.status, 401);
    let page = html(&answer);
    assert!(page.contains("your sign-in is too old"), "{page}");
    assert_eq!(SectionForm::of(&page, "welcome").get("value.greeting"), ["Mine"]);
    assert_eq!(values(&site).await, json!({}));
}

/// Another user who changes the delay before each of the first changes that the site makes.
struct Rival {
    inner: Arc<dyn SettingsStore>,
    changes: AtomicU64,
}

#[async_trait]
impl SettingsStoreOver for Rival {
    fn settings(&self) -> &dyn SettingsStore {
        &*self.inner
    }

    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError> {
        let left = self.changes.load(Ordering::Relaxed);
        if left > 0 && change.edit.via == Origin::Site {
            self.changes.store(left - 1, Ordering::Relaxed);
            let values = [("welcome.delay".parse().unwrap(), Value::number(left as f64))].into();
            let edit = Edit { by: None, via: Origin::Bot, ..change.edit };
            let rival = Change { guild: guild(), values, expected: None, edit, authority: None };
            self.inner.change(&rival).await?;
        }
        self.inner.change(change).await
    }
}

async fn contested(changes: u64) -> Rc<Site> {
    let site = Site::planned(
        |_| {},
        |plan| {
            let settings = &mut plan.memory.ports.stores.settings;
            let rival = Rival { inner: Arc::clone(settings), changes: AtomicU64::new(changes) };
            *settings = Arc::new(Over(rival));
        },
    )
    .await;
    populate(&site).await;
    site
}

#[actix_web::test]
async fn retries_a_race_unless_over_the_same_field_or_endless() {
    for (changes, field, typed, words) in [
        (2, "value.greeting", "Mine", None),
        (1, "value.delay", "50", Some(">Theirs: 1 seconds<")),
        (50, "value.greeting", "Mine", Some("others are changing these settings right now")),
    ] {
        let site = contested(changes).await;
        let browser = owner(&site).await;
        let mut form = SectionForm::open(&browser, "welcome").await;
        form.fill(field, &[typed]);
        let answer = form.send(&browser).await;
        let Some(words) = words else {
            assert_eq!(values(&site).await, json!({"welcome.delay": 1, "welcome.greeting": "Mine"}));
            continue;
        };
        assert_eq!(answer.status, 409);
        let page = html(&answer);
        assert!(page.contains(words), "{page}");
        assert_eq!(SectionForm::of(&page, "welcome").get(field), [typed], "what was typed is kept");
        assert!(values(&site).await.get("welcome.greeting").is_none());
    }
}
