-- A history that has forgotten its first changes, with one about a cluster whose id no cluster could have today.
UPDATE history SET revision = 43, grant_offset = 12;
INSERT INTO changes (revision, kind, subject) VALUES
    (41, 'team', ''),
    (42, 'cluster', 'eu west'),
    (43, 'feedback', '*');
