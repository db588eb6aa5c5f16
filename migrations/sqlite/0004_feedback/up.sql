-- The positive entries are numbered from 0 without holes, so that any of them is found by its slot.
CREATE TABLE feedback (
    id                 TEXT PRIMARY KEY NOT NULL,
    message            TEXT NOT NULL,
    rating             INTEGER NOT NULL,
    submitted_at       INTEGER NOT NULL,
    submitter_id       INTEGER NOT NULL,
    submitter_username TEXT NOT NULL,
    submitter_name     TEXT NOT NULL,
    submitter_avatar   TEXT NOT NULL,
    slot               INTEGER
) STRICT;
CREATE UNIQUE INDEX feedback_by_slot ON feedback (slot);
CREATE INDEX feedback_by_submitter ON feedback (submitter_id);
