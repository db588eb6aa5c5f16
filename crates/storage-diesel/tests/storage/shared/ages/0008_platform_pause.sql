-- 0 more readable records in an export.
-- The platform asked for a pause of five seconds.
INSERT INTO platform_pause (id, said_at, wait) VALUES (1, 4000000000000000, 5000000);
