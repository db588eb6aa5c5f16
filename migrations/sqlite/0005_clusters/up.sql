-- The last report of each cluster, as JSON.
CREATE TABLE clusters (
    id          TEXT PRIMARY KEY NOT NULL,
    report      TEXT NOT NULL,
    received_at INTEGER NOT NULL
) STRICT;
