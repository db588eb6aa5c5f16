-- 4 more readable records in an export.
-- Two bytes are not a token hash.
INSERT INTO sessions (id, user_id, created_at, last_seen_at) VALUES
    (X'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 7, 4000000000000000, 4000000000000001),
    (X'00ff', 7, 1, 1);
-- A complete grant, an empty one, and two whose lists have an unknown format: with and without tokens.
INSERT INTO grants (user_id, version, tokens, list, fetched_at, claim_until) VALUES
    (7, 55, X'0102', X'010000000000000001000000000000000801', 1700000000000000, NULL),
    (8, 14, NULL, NULL, NULL, 1700000000000000),
    (9, 15, X'03', X'02', 1700000000000000, NULL),
    (10, 16, NULL, X'02', 1700000000000000, NULL);
INSERT INTO spent_codes (fingerprint, spent_until) VALUES
    (X'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 4000000000000000);
