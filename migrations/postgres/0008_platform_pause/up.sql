-- The pause that the platform asked everyone for, at most one: when it said so, and for how long, in microseconds.
CREATE TABLE platform_pause (
    id BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    said_at BIGINT NOT NULL,
    wait BIGINT NOT NULL
);
