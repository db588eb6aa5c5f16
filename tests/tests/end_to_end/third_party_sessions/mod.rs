//! A third-party adapter of the hardest port: sessions in an embedded store. `docs/adapters.md` discusses it.

mod redb_sessions;

pub(crate) use self::redb_sessions::RedbSessions;

use companion_domain::port::{SessionStore, StoreErrorKind};
use companion_testkit::{
    conformance::{Damage, Fresh, Gate},
    world::{a_session, at},
};
use std::{num::NonZeroU32, sync::Arc};

companion_testkit::session_store_conformance! {
    in_a_temporary_folder()
}

/// Creates two handles to one file. redb lets only one process open it, so they share just the open database.
#[expect(clippy::unwrap_used, reason = "the test needs its file")]
fn in_a_temporary_folder() -> Fresh<dyn SessionStore> {
    let folder = tempfile::tempdir().unwrap();
    let sessions = RedbSessions::open(&folder.path().join("sessions.redb")).unwrap();
    let (gated, damaged) = (sessions.clone(), sessions.clone());
    Fresh::<dyn SessionStore>::new(Arc::new(sessions.clone()))
        .with_other(Arc::new(sessions))
        .gating(move || {
            let gated = gated.clone();
            async move { Box::new(gated.write_lock().await.unwrap()) as Gate }
        })
        .damaging(move |what| {
            let damaged = damaged.clone();
            async move {
                let Damage::Session(id) = what else { return false };
                damaged.damage(id).await.is_ok()
            }
        })
        .keeping(folder)
}

#[tokio::test]
async fn sessions_survive_reopening_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.redb");
    let session = a_session(1, 7, at(100));
    let nothing_over = companion_domain::session::Cutoffs { created: at(0), seen: at(0), ahead: at(1000) };
    let sessions = RedbSessions::open(&file).unwrap();
    sessions.create(&session, NonZeroU32::MIN, nothing_over).await.unwrap();
    // The file has one owner at a time.
    let refused = RedbSessions::open(&file).map(|_| ()).unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Unavailable);
    drop(sessions);
    let sessions = RedbSessions::open(&file).unwrap();
    assert_eq!(sessions.find(&session.id).await.unwrap(), Some(session.clone()));
    assert_eq!(sessions.of_user(session.user).await.unwrap(), [session]);
}
