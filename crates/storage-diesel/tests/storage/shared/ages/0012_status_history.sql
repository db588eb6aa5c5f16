-- 3 more readable records in an export.
-- The second one is of no subject.
INSERT INTO periods (subject, began_at, ended_at, reason, alert_due) VALUES
    ('cluster:east-1', 4000000, NULL, NULL, NULL),
    ('moon', 4000000, 5000000, NULL, NULL),
    ('incident', 4000000, 5000000, 'The bot is silent', 6000000);
-- The second one has no title.
INSERT INTO notices (id, kind, title, body, starts_at, ends_at) VALUES
    ('upgrade', 'maintenance', 'Moving', '', 4000000, NULL),
    ('empty', 'news', '', '', 4000000, 5000000);
