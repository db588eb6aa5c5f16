-- Names of channels and roles, as JSON. Writers check the guild themselves, as for members.
CREATE TABLE outlines (
    guild    BIGINT PRIMARY KEY NOT NULL,
    channels TEXT COLLATE "C" NOT NULL,
    roles    TEXT COLLATE "C" NOT NULL
);
