-- Snowflakes are 64-bit numbers without a sign; here they keep their bits and get one.
CREATE TABLE guilds (
    id       BIGINT PRIMARY KEY NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    icon     TEXT COLLATE "C",
    members  BIGINT NOT NULL,
    owner    BIGINT NOT NULL,
    setup    BOOLEAN NOT NULL,
    linked   BOOLEAN NOT NULL,
    bindings TEXT COLLATE "C" NOT NULL
);

-- Writers pass one after another and look for the guild themselves. A foreign key would ask once more for every row,
-- and more than double the time that the merge of a large sync holds up everyone else.
CREATE TABLE members (
    guild   BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    roles   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (guild, user_id)
);
CREATE INDEX members_by_user ON members (user_id);
