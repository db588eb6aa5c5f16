-- Text is compared byte by byte everywhere, so that its order does not depend on where the server runs.

-- The history of changes. Its one row of counters is updated by every writer, in the transaction of its change.
-- On several nodes it is also the lock that lets writers pass one after another.
-- `grant_offset` is added to the revision to get the version of a grant; only an import raises it.
CREATE TABLE history (
    id           BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    revision     BIGINT NOT NULL,
    grant_offset BIGINT NOT NULL
);
INSERT INTO history (id, revision, grant_offset) VALUES (1, 0, 0);

CREATE TABLE changes (
    revision BIGINT PRIMARY KEY NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    subject  TEXT COLLATE "C" NOT NULL
);
