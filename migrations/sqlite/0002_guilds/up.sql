-- Snowflakes are 64-bit numbers without a sign; here they keep their bits and get one.
CREATE TABLE guilds (
    id       INTEGER PRIMARY KEY NOT NULL,
    name     TEXT NOT NULL,
    icon     TEXT,
    members  INTEGER NOT NULL,
    owner    INTEGER NOT NULL,
    setup    INTEGER NOT NULL CHECK (setup IN (0, 1)),
    linked   INTEGER NOT NULL CHECK (linked IN (0, 1)),
    bindings TEXT NOT NULL
) STRICT;

CREATE TABLE members (
    guild   INTEGER NOT NULL REFERENCES guilds (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    roles   TEXT NOT NULL,
    PRIMARY KEY (guild, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_user ON members (user_id);
