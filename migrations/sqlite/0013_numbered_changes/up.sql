-- The highest number is that of the newest change, so that a write need not update a counter too. If the row of the newest
-- change is missing, a row of an unknown kind takes its number, and readers of the feed load everything again.
INSERT INTO changes (revision, kind, subject)
    SELECT revision, 'none', '*' FROM history WHERE revision > (SELECT coalesce(max(revision), 0) FROM changes);
ALTER TABLE history DROP COLUMN revision;
