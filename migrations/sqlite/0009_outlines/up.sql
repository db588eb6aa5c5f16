-- Names of channels and roles, as JSON.
CREATE TABLE outlines (
    guild    INTEGER PRIMARY KEY NOT NULL REFERENCES guilds (id) ON DELETE CASCADE,
    channels TEXT NOT NULL,
    roles    TEXT NOT NULL
) STRICT;
