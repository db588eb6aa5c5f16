//! A sample application, and users named after their roles.

use crate::platform::{Account, AccountGuild, Client};

const NO_PERMISSIONS: u64 = 0;
const MODERATE_MEMBERS: u64 = 1 << 40;
const ADMINISTRATOR: u64 = 1 << 3;
const MANAGE_SERVER: u64 = 1 << 5;

pub(crate) fn client() -> Client {
    Client {
        id: "100000000000000001".to_owned(),
        secret: "development-only".to_owned(),
        redirect_uris: vec![
            "http://127.0.0.1:8082/callback".to_owned(),
            "http://localhost:8082/callback".to_owned(),
        ],
    }
}

/// Username, display name, picture hash, and permissions in the first and in the second sample guild.
type Row = (&'static str, Option<&'static str>, Option<&'static str>, u64, u64);

pub(crate) fn users() -> Vec<Account> {
    let rows: [Row; 5] = [
        (
            "sample_owner",
            Some("Sample Owner"),
            Some("a_0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
            u64::MAX,
            u64::MAX,
        ),
        (
            "sample_manager",
            Some("Sample Manager"),
            Some("00112233445566778899aabbccddeeff"),
            MANAGE_SERVER,
            NO_PERMISSIONS,
        ),
        ("sample_administrator", None, None, ADMINISTRATOR, NO_PERMISSIONS),
        ("sample_moderator", Some("Sample Moderator"), None, MODERATE_MEMBERS, MODERATE_MEMBERS),
        ("sample_newcomer", None, None, NO_PERMISSIONS, NO_PERMISSIONS),
    ];
    let mut id = 200_000_000_000_000_000;
    rows.map(|(username, global_name, avatar, first, second)| {
        // Far enough apart for different default pictures.
        id += 1 << 22;
        Account {
            id,
            username: username.to_owned(),
            global_name: global_name.map(str::to_owned),
            avatar: avatar.map(str::to_owned),
            guilds: guilds(first, second),
        }
    })
    .into()
}

/// The owner has all permissions.
fn guilds(first: u64, second: u64) -> Vec<AccountGuild> {
    let guild = |id, name: &str, icon: Option<&str>, permissions| AccountGuild {
        id,
        name: name.to_owned(),
        icon: icon.map(str::to_owned),
        owner: permissions == u64::MAX,
        permissions,
    };
    vec![
        guild(300_000_000_000_000_001, "First Sample Guild", Some("ffeeddccbbaa99887766554433221100"), first),
        guild(300_000_000_000_000_002, "Second Sample Guild", None, second),
    ]
}
