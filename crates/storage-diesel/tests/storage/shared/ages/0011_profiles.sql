-- 0 more readable records in an export.
-- One with a picture of an address that is invalid.
UPDATE grants SET name = 'Zoë', avatar = 'https://cdn.example/a.png' WHERE user_id = 9;
UPDATE grants SET name = 'Old', avatar = 'https://user@cdn.example/a.png' WHERE user_id = 10;
