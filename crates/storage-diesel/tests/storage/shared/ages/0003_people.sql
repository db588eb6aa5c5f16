-- 8 more readable records in an export.
INSERT INTO subscriptions (user_id, slots, guilds) VALUES
    (9, 2, '1 18446744073709551615'),
    (10, 0, ''),
    (11, -5, '1');
INSERT INTO subscription_guilds (user_id, guild) VALUES (9, 1), (9, -1), (11, 1);
-- A permission that can no longer be granted to a user.
INSERT INTO staff (user_id, grants) VALUES (9, 'SUPPORT FOUNDER'), (10, ''), (11, 'SUPPORT EMPEROR');
INSERT INTO blocked (user_id) VALUES (13), (-2);
-- The last three have a picture, a colour and a position that are invalid today.
INSERT INTO team (user_id, category, username, name, avatar, role, color, position) VALUES
    (7, 'Board', 'u', 'U', 'https://cdn.example/a.png', 'Lead', '#1ABC9C', 1),
    (7, 'Über', 'u', 'U', 'http://my_host-1/a.png', 'Lead', '#1abc9c', -3),
    (8, 'Board', 'v', 'V', 'https://user:password@cdn.example/a.png', 'Lead', '#1ABC9C', 2),
    (9, 'Board', 'w', 'W', 'https://cdn.example/a.png', 'Lead', 'teal', 3),
    (10, 'Board', 'y', 'Y', 'https://cdn.example/a.png', 'Lead', '#1ABC9C', 4000000000);
