-- 5 more readable records in an export.
-- The last two have an icon address with a user and role keys that are invalid today.
INSERT INTO guilds (id, name, icon, members, owner, setup, linked, bindings) VALUES
    (1, 'Night Owls', NULL, 3, 9, TRUE, FALSE, '{"ADMIN":["51"],"MOD":["50","18446744073709551615"]}'),
    (-1, 'Zoë''s 🦀 "café"', 'HTTPS://Cdn.Example/icons/1.png', 0, -9223372036854775808, FALSE, TRUE, '{}'),
    (2, 'Old Icon', 'https://user@cdn.example/icons/2.png', 5, 9, TRUE, TRUE, '{}'),
    (3, 'Old Key', NULL, 5, 9, TRUE, TRUE, '{"EMPEROR":["1"]}');
-- Roles were once unordered, and not always numbers.
INSERT INTO members (guild, user_id, roles) VALUES
    (1, 7, '51 50 50'),
    (1, 8, ''),
    (1, 9, 'moderator'),
    (-1, -2, '18446744073709551615'),
    (2, 7, '50');
