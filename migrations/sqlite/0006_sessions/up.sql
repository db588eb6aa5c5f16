-- Sessions go by the hash of their token; the token itself is nowhere.
CREATE TABLE sessions (
    id           BLOB PRIMARY KEY NOT NULL,
    user_id      INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);
CREATE INDEX sessions_by_creation ON sessions (created_at);
CREATE INDEX sessions_by_use ON sessions (last_seen_at);

-- Tokens are sealed; the list is packed and belongs to `fetched_at`.
CREATE TABLE grants (
    user_id     INTEGER PRIMARY KEY NOT NULL,
    version     INTEGER NOT NULL,
    tokens      BLOB,
    list        BLOB,
    fetched_at  INTEGER,
    claim_until INTEGER
) STRICT;

CREATE TABLE spent_codes (
    fingerprint BLOB PRIMARY KEY NOT NULL,
    spent_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_codes_by_end ON spent_codes (spent_until);
