-- 0 more readable records in an export.
UPDATE history SET grant_offset = 12;
