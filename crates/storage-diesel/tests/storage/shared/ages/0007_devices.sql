-- 0 more readable records in an export.
-- A session with a user agent, beside those without.
UPDATE sessions SET user_agent = 'Browser/1.0 (X11; Linux x86_64)' WHERE user_id = 7 AND created_at = 4000000000000000;
