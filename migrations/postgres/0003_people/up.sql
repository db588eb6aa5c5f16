-- Subscriptions hold their guilds in order; `subscription_guilds` finds them by guild.
CREATE TABLE subscriptions (
    user_id BIGINT PRIMARY KEY NOT NULL,
    slots   BIGINT NOT NULL,
    guilds  TEXT COLLATE "C" NOT NULL
);

CREATE TABLE subscription_guilds (
    user_id BIGINT NOT NULL REFERENCES subscriptions (user_id) ON DELETE CASCADE,
    guild   BIGINT NOT NULL,
    PRIMARY KEY (user_id, guild)
);
CREATE INDEX subscription_guilds_by_guild ON subscription_guilds (guild);

CREATE TABLE staff (
    user_id BIGINT PRIMARY KEY NOT NULL,
    grants  TEXT COLLATE "C" NOT NULL
);

CREATE TABLE blocked (
    user_id BIGINT PRIMARY KEY NOT NULL
);

CREATE TABLE team (
    user_id  BIGINT NOT NULL,
    category TEXT COLLATE "C" NOT NULL,
    username TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    avatar   TEXT COLLATE "C" NOT NULL,
    role     TEXT COLLATE "C" NOT NULL,
    color    TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (user_id, category)
);
