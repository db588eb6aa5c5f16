-- Sessions go by the hash of their token; the token itself is nowhere.
CREATE TABLE sessions (
    id           BYTEA PRIMARY KEY NOT NULL,
    user_id      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);
CREATE INDEX sessions_by_creation ON sessions (created_at);
CREATE INDEX sessions_by_use ON sessions (last_seen_at);

-- Tokens are sealed; the list is packed and belongs to `fetched_at`.
CREATE TABLE grants (
    user_id     BIGINT PRIMARY KEY NOT NULL,
    version     BIGINT NOT NULL,
    tokens      BYTEA,
    list        BYTEA,
    fetched_at  BIGINT,
    claim_until BIGINT
);

CREATE TABLE spent_codes (
    fingerprint BYTEA PRIMARY KEY NOT NULL,
    spent_until BIGINT NOT NULL
);
CREATE INDEX spent_codes_by_end ON spent_codes (spent_until);
