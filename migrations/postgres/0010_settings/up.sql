-- What the bot lets people set: one row, as JSON.
CREATE TABLE settings_schema (
    id      BIGINT PRIMARY KEY NOT NULL,
    content TEXT COLLATE "C" NOT NULL
);

-- Values as JSON. They outlive the guild's own row.
CREATE TABLE settings (
    guild       BIGINT PRIMARY KEY NOT NULL,
    revision    BIGINT NOT NULL,
    content     TEXT COLLATE "C" NOT NULL,
    changed_at  BIGINT,
    changed_by  BIGINT,
    changed_via TEXT COLLATE "C",
    applied     BIGINT,
    problems    TEXT COLLATE "C" NOT NULL
);
CREATE INDEX settings_by_user ON settings (changed_by) WHERE changed_by IS NOT NULL;

-- What each change changed, as JSON: the last 50 of a guild.
CREATE TABLE settings_edits (
    guild    BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    made_at  BIGINT NOT NULL,
    made_by  BIGINT,
    via      TEXT COLLATE "C" NOT NULL,
    content  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (guild, revision)
);
CREATE INDEX settings_edits_by_user ON settings_edits (made_by) WHERE made_by IS NOT NULL;
