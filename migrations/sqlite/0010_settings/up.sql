-- What the bot lets people set: one row, as JSON.
CREATE TABLE settings_schema (
    id      INTEGER PRIMARY KEY NOT NULL,
    content TEXT NOT NULL
) STRICT;

-- Values as JSON. They outlive the guild's own row.
CREATE TABLE settings (
    guild       INTEGER PRIMARY KEY NOT NULL,
    revision    INTEGER NOT NULL,
    content     TEXT NOT NULL,
    changed_at  INTEGER,
    changed_by  INTEGER,
    changed_via TEXT,
    applied     INTEGER,
    problems    TEXT NOT NULL
) STRICT;
CREATE INDEX settings_by_user ON settings (changed_by) WHERE changed_by IS NOT NULL;

-- What each change changed, as JSON: the last 50 of a guild.
CREATE TABLE settings_edits (
    guild    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    made_at  INTEGER NOT NULL,
    made_by  INTEGER,
    via      TEXT NOT NULL,
    content  TEXT NOT NULL,
    PRIMARY KEY (guild, revision)
) STRICT;
CREATE INDEX settings_edits_by_user ON settings_edits (made_by) WHERE made_by IS NOT NULL;
