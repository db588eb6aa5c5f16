-- The newest change has the highest number, so that a write need not update a counter too. If its row is missing, a row of no
-- kind has its number, and readers load everything again.
INSERT INTO changes (revision, kind, subject)
    SELECT revision, 'none', '*' FROM history WHERE revision > (SELECT coalesce(max(revision), 0) FROM changes);
ALTER TABLE history DROP COLUMN revision;
