//! Guilds that have the bot.

use super::{
    column::any_of,
    column::{AT_ONCE, from_column, to_column},
    history::{Write, removed},
    members,
    row::{GuildRow, Row, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{Failure, RowError},
    schema::guilds,
};
use companion_domain::{
    change::{Subject, Tally},
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleId, RoleKey, RoleSet, UserId},
    port::GuildSeen,
};
use diesel::{OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

impl From<&Guild> for GuildRow {
    fn from(guild: &Guild) -> Self {
        Self {
            id: to_column(guild.id),
            name: guild.name.to_string(),
            icon: guild.icon.as_ref().map(ToString::to_string),
            members: guild.members.get().into(),
            owner: to_column(guild.owner),
            setup: guild.setup,
            linked: guild.linked,
            bindings: bindings_to_text(&guild.bindings),
        }
    }
}

impl TryFrom<GuildRow> for Guild {
    type Error = RowError;

    fn try_from(row: GuildRow) -> Result<Self, RowError> {
        Ok(Self {
            id: read!(row.id, from_column),
            name: read!(row.name, |name| name.parse()),
            icon: read!(row.icon, |icon| icon.as_deref().map(str::parse).transpose()),
            members: read!(row.members, |members| {
                u64::try_from(*members).ok().and_then(|members| MemberCount::new(members).ok()).ok_or(())
            }),
            owner: read!(row.owner, from_column),
            setup: row.setup,
            linked: row.linked,
            bindings: read!(row.bindings, |text| bindings_from_text(text).ok_or(())),
        })
    }
}

/// Bindings as JSON with sorted keys, and the ids as text, which is how platform ids are written in JSON.
fn bindings_to_text(bindings: &RoleBindings) -> String {
    let map: BTreeMap<_, Vec<_>> = bindings
        .iter()
        .map(|(key, roles)| {
            let ids = roles.as_slice().iter().map(ToString::to_string);
            (key.as_str(), ids.collect())
        })
        .collect();
    serde_json::json!(map).to_string()
}

fn bindings_from_text(text: &str) -> Option<RoleBindings> {
    let map: BTreeMap<String, Vec<String>> = serde_json::from_str(text).ok()?;
    let bindings = map.into_iter().map(|(key, ids)| {
        let ids: Result<Vec<RoleId>, _> = ids.iter().map(|id| id.parse()).collect();
        Some((key.parse::<RoleKey>().ok()?, RoleSet::new(ids.ok()?).ok()?))
    });
    Some(RoleBindings::new(bindings.collect::<Option<Vec<_>>>()?))
}

pub(crate) fn find(
    db: &mut AnyConnection,
    guild: GuildId,
    unreadable: &Unreadable,
) -> QueryResult<Option<Guild>> {
    let row = GuildRow::stored(db, (to_column(guild),))?;
    Ok(row.and_then(|row| unreadable.one(row)))
}

pub(crate) fn is_known(db: &mut AnyConnection, guild: GuildId) -> QueryResult<bool> {
    let found: Option<i64> =
        guilds::table.find(to_column(guild)).select(guilds::id).get_result(db).optional()?;
    Ok(found.is_some())
}

/// Those of the guilds that are known, with a user's roles there. Roles that cannot be read are none, which is what fewest
/// follows from.
pub(crate) fn seen_by(
    db: &mut AnyConnection,
    user: UserId,
    asked: &[GuildId],
    unreadable: &Unreadable,
) -> QueryResult<Vec<GuildSeen>> {
    let none = Arc::new(RoleSet::default());
    let asked: BTreeSet<_> = asked.iter().copied().map(to_column).collect();
    let asked: Vec<_> = asked.into_iter().collect();
    let mut seen = Vec::new();
    for some in asked.chunks(AT_ONCE) {
        let known: Vec<GuildRow> =
            guilds::table.filter(any_of(guilds::id, some)).select(GuildRow::as_select()).load(db)?;
        let mut roles = members::roles_in(db, user, some, unreadable)?;
        for row in known {
            let roles = roles.remove(&row.id).map_or_else(|| Arc::clone(&none), Arc::new);
            seen.extend(unreadable.one(row).map(|guild| GuildSeen { guild: Arc::new(guild), roles }));
        }
    }
    Ok(seen)
}

pub(crate) fn put(write: &mut Write<'_>, guild: &Guild) -> Result<Tally, Failure> {
    let tally = GuildRow::from(guild).put(write.db)?;
    Ok(write.noted(tally, || Subject::Guild(guild.id)))
}

/// Removes a guild. Its members go along: they are noted, and not counted.
pub(crate) fn remove(write: &mut Write<'_>, guild: GuildId) -> Result<Tally, Failure> {
    members::remove_all_of(write, guild)?;
    let gone = diesel::delete(guilds::table.find(to_column(guild))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Guild(guild)))
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
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
        let options =
            SqliteOptions { create: true, ..SqliteOptions::new(folder.path().join("companion.db")) };
        let storage = DieselStorage::open(options).await.unwrap();
        let put = |members: u64| {
            let guild = Guild { members: MemberCount::new(members).unwrap(), ..a_guild(1) };
            storage.write(move |write| guilds::put(write, &guild))
        };
        let statements = Arc::new(Mutex::new(Statements::default()));
        let heard = Arc::clone(&statements);
        let listen = move |event: InstrumentationEvent<'_>| match event {
            InstrumentationEvent::StartQuery { query, .. } => {
                heard.lock().unwrap().run.push(query.to_string())
            }
            InstrumentationEvent::CacheQuery { sql, .. } => {
                heard.lock().unwrap().prepared.push(sql.to_owned())
            }
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
        assert!(
            !again.run.iter().any(|text| text.starts_with("SAVEPOINT")),
            "a write that is alone needs none"
        );
        let of_frame = |text: &&String| FRAME.iter().any(|frame| text.starts_with(frame));
        let run: Vec<_> = again.run.iter().filter(|text| !of_frame(text)).collect();
        assert!(run.len() >= 4, "{run:?}");
        for text in run {
            assert!(prepared.iter().any(|prepared| text.starts_with(prepared)), "{text} is parsed each time");
        }
        storage.close().await;
    }
}
