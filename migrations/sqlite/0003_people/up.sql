-- Subscriptions hold their guilds in order; `subscription_guilds` finds them by guild.
CREATE TABLE subscriptions (
    user_id INTEGER PRIMARY KEY NOT NULL,
    slots   INTEGER NOT NULL,
    guilds  TEXT NOT NULL
) STRICT;

CREATE TABLE subscription_guilds (
    user_id INTEGER NOT NULL REFERENCES subscriptions (user_id) ON DELETE CASCADE,
    guild   INTEGER NOT NULL,
    PRIMARY KEY (user_id, guild)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_guilds_by_guild ON subscription_guilds (guild);

CREATE TABLE staff (
    user_id INTEGER PRIMARY KEY NOT NULL,
    grants  TEXT NOT NULL
) STRICT;

CREATE TABLE blocked (
    user_id INTEGER PRIMARY KEY NOT NULL
) STRICT;

CREATE TABLE team (
    user_id  INTEGER NOT NULL,
    category TEXT NOT NULL,
    username TEXT NOT NULL,
    name     TEXT NOT NULL,
    avatar   TEXT NOT NULL,
    role     TEXT NOT NULL,
    color    TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (user_id, category)
) STRICT, WITHOUT ROWID;
