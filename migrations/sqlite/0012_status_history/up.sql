-- When the bot was watched, when it or a cluster was silent, and incidents.
CREATE TABLE periods (
    subject   TEXT NOT NULL,
    began_at  INTEGER NOT NULL,
    ended_at  INTEGER,
    reason    TEXT,
    alert_due INTEGER,
    PRIMARY KEY (subject, began_at)
) STRICT;

-- Planned maintenance, incidents and news, put by the bot or the operator.
CREATE TABLE notices (
    id        TEXT PRIMARY KEY NOT NULL,
    kind      TEXT NOT NULL,
    title     TEXT NOT NULL,
    body      TEXT NOT NULL,
    starts_at INTEGER NOT NULL,
    ends_at   INTEGER
) STRICT;
