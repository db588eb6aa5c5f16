-- The history of changes. Its one row of counters is updated by every writer, in the transaction of its change.
-- `grant_offset` is added to the revision to get the version of a grant; only an import raises it.
CREATE TABLE history (
    id           INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
    revision     INTEGER NOT NULL,
    grant_offset INTEGER NOT NULL
) STRICT;
INSERT INTO history (id, revision, grant_offset) VALUES (1, 0, 0);

CREATE TABLE changes (
    revision INTEGER PRIMARY KEY NOT NULL,
    kind     TEXT NOT NULL,
    subject  TEXT NOT NULL
) STRICT;
