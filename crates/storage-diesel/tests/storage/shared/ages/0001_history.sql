-- 0 more readable records in an export.
-- A trimmed history, with a change of a cluster whose id is invalid today.
UPDATE history SET revision = 43, grant_offset = 12;
INSERT INTO changes (revision, kind, subject) VALUES
    (41, 'team', ''),
    (42, 'cluster', 'eu west'),
    (43, 'feedback', '*');
