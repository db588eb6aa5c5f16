-- 0 more readable records in an export.
-- The second report is from before clusters sent their start time.
INSERT INTO clusters (id, report, received_at) VALUES
    ('eu-1', '{"memory":12.5,"started_at":1700000000000000,"shards":{"0":[1700000000,1700000000.25,0.1]}}', 1700000001000000),
    ('eu-0', '{"memory":12.5,"shards":{}}', 1600000000000000);
