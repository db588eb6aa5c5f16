-- 3 more readable records in an export.
INSERT INTO settings_schema (id, content) VALUES
    (1, '{"sections":[{"key":"welcome","title":"Welcome","permission":"MANAGE_SERVER","fields":[{"key":"on","type":"boolean","title":"On"}]}]}');
-- The second one has values that are invalid.
INSERT INTO settings (guild, revision, content, changed_at, changed_by, changed_via, applied, problems) VALUES
    (-1, 2, '{"welcome.on":true}', 5000000, 7, 'site', 1, '[{"key":"welcome.on","message":"Not now."}]'),
    (2, 1, '{"Welcome":true}', 5000000, NULL, 'bot', NULL, '[]');
-- The first one has a name of no origin.
INSERT INTO settings_edits (guild, revision, made_at, made_by, via, content) VALUES
    (-1, 1, 4000000, 7, 'post', '[]'),
    (-1, 2, 5000000, 7, 'site', '[{"key":"welcome.on","from":null,"to":true}]');
