-- 3 more readable records in an export.
-- The second has an address that is invalid today, the fourth a rating above five.
INSERT INTO feedback (id, message, rating, submitted_at, submitter_id, submitter_username, submitter_name, submitter_avatar, slot)
VALUES
    ('f-1', 'Splendid', 5, 1700000000000000, 7, 'u', 'U', 'https://cdn.example/a.png', 0),
    ('f-2', 'Good', 4, 1700000000000000, 7, 'u', 'U', 'https://cdn..example/a.png', 1),
    ('f-3', '', 1, -1, -2, 'v', 'V', 'https://cdn.example/b.png', NULL),
    ('f-4', 'Six of five', 6, 1700000000000000, 7, 'u', 'U', 'https://cdn.example/a.png', 2),
    ('f-5', 'Fine', 4, 1700000000000000, 7, 'u', 'U', 'https://cdn.example/a.png', 3);
