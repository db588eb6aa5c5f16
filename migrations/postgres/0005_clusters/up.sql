-- The last report of each cluster, as JSON.
CREATE TABLE clusters (
    id          TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    report      TEXT COLLATE "C" NOT NULL,
    received_at BIGINT NOT NULL
);
