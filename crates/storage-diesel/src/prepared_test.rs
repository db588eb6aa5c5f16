//! What a busy bot writes all the time is parsed once.

use crate::{
    DieselStorage, SqliteOptions,
    table::{guilds, history::Write},
};
use companion_domain::model::{Guild, MemberCount};
use companion_testkit::world::a_guild;
use diesel::connection::{Connection, InstrumentationEvent};
use std::{
    mem,
    sync::{Arc, Mutex},
};

/// What begins and ends transactions is too short to matter.
const FRAME: [&str; 4] = ["BEGIN", "SAVEPOINT", "RELEASE", "COMMIT"];

#[derive(Default)]
struct Statements {
    run: Vec<String>,
    prepared: Vec<String>,
}

#[tokio::test]
async fn a_change_of_a_guild_prepares_no_statement_that_another_has_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { create: true, ..SqliteOptions::new(folder.path().join("companion.db")) };
    let storage = DieselStorage::open(options).await.unwrap();
    let put = |members: u64| {
        let guild = Guild { members: MemberCount::new(members).unwrap(), ..a_guild(1) };
        storage.write(move |write| guilds::put(write, &guild))
    };
    let statements = Arc::new(Mutex::new(Statements::default()));
    let heard = Arc::clone(&statements);
    let listen = move |event: InstrumentationEvent<'_>| match event {
        InstrumentationEvent::StartQuery { query, .. } => heard.lock().unwrap().run.push(query.to_string()),
        InstrumentationEvent::CacheQuery { sql, .. } => heard.lock().unwrap().prepared.push(sql.to_owned()),
        _ => {}
    };
    let begin = move |write: &mut Write<'_>| {
        write.db.set_instrumentation(listen);
        Ok(())
    };
    storage.write(begin).await.unwrap();
    for members in 1..=2 {
        put(members).await.unwrap();
    }
    let Statements { prepared, .. } = mem::take(&mut *statements.lock().unwrap());
    put(3).await.unwrap();
    let again = mem::take(&mut *statements.lock().unwrap());
    assert!(again.prepared.is_empty(), "{:?}", again.prepared);
    assert!(!again.run.iter().any(|text| text.starts_with("SAVEPOINT")), "a write that is alone needs none");
    let of_frame = |text: &&String| FRAME.iter().any(|frame| text.starts_with(frame));
    let run: Vec<_> = again.run.iter().filter(|text| !of_frame(text)).collect();
    assert!(run.len() >= 4, "{run:?}");
    for text in run {
        assert!(prepared.iter().any(|prepared| text.starts_with(prepared)), "{text} is parsed each time");
    }
    storage.close().await;
}
