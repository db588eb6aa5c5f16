//! Changes of other processes to the same file.

use crate::{
    sample::{guild, user},
    shared::Place,
    sqlite::folder::Folder,
};
use companion_domain::{
    change::{Changes, Revision},
    port::{ChangeFeed, Record, Records},
};
use companion_storage_diesel::DieselStorage;

#[tokio::test]
async fn waits_for_changes_beyond_those_of_another_process() {
    let folder = Folder::new();
    let (one, other) = (folder.open().await, folder.open().await);
    one.put(Record::Blocked(user(1))).await.unwrap();
    for number in 2..=5 {
        other.put(Record::Blocked(user(number))).await.unwrap();
    }
    // This handle committed revision 1 itself, and has read up to revision 5.
    let latest = one.latest().await.unwrap();
    assert_eq!(latest, Revision(5));
    let mut news = std::pin::pin!(one.wait_for_change(latest));
    assert!(
        std::future::poll_fn(|context| std::task::Poll::Ready(news.as_mut().poll(context)))
            .await
            .is_pending()
    );
    one.put(Record::Guild(guild(1))).await.unwrap();
    news.await;
}

#[tokio::test]
async fn a_trimmed_history_yields_a_gap() {
    let folder = Folder::new();
    let storage = DieselStorage::open(folder.limited(|limits| limits.history = 64)).await.unwrap();
    for number in 1..=200 {
        storage.put(Record::Blocked(user(number))).await.unwrap();
    }
    let since = |revision| storage.since(Revision(revision));
    assert_eq!(since(0).await.unwrap(), Changes::Gap(Revision(200)));
    assert_eq!(since(201).await.unwrap(), Changes::Gap(Revision(200)));
    assert_eq!(since(200).await.unwrap(), Changes::Listed(Vec::new()));
    let Changes::Listed(remembered) = since(136).await.unwrap() else {
        panic!("a gap");
    };
    assert_eq!(remembered.len(), 64);
}

#[tokio::test]
async fn numbers_go_on_without_a_history() {
    let folder = Folder::new();
    let storage = DieselStorage::open(folder.limited(|limits| limits.history = 0)).await.unwrap();
    for number in 1..=3 {
        storage.put(Record::Blocked(user(number))).await.unwrap();
        assert_eq!(storage.latest().await.unwrap(), Revision(number));
    }
}
