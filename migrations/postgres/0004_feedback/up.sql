-- The positive entries are numbered from 0 without holes, so that any of them is found by its slot.
CREATE TABLE feedback (
    id                 TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    message            TEXT COLLATE "C" NOT NULL,
    rating             BIGINT NOT NULL,
    submitted_at       BIGINT NOT NULL,
    submitter_id       BIGINT NOT NULL,
    submitter_username TEXT COLLATE "C" NOT NULL,
    submitter_name     TEXT COLLATE "C" NOT NULL,
    submitter_avatar   TEXT COLLATE "C" NOT NULL,
    slot               BIGINT
);
CREATE UNIQUE INDEX feedback_by_slot ON feedback (slot);
CREATE INDEX feedback_by_submitter ON feedback (submitter_id);
