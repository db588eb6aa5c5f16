-- When the bot was watched, when it or a cluster was silent, and incidents.
CREATE TABLE periods (
    subject   TEXT COLLATE "C" NOT NULL,
    began_at  BIGINT NOT NULL,
    ended_at  BIGINT,
    reason    TEXT COLLATE "C",
    alert_due BIGINT,
    PRIMARY KEY (subject, began_at)
);

-- Planned maintenance, incidents and news, put by the bot or the operator.
CREATE TABLE notices (
    id        TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    title     TEXT COLLATE "C" NOT NULL,
    body      TEXT COLLATE "C" NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at   BIGINT
);
