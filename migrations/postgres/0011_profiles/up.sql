-- The name and picture of a user at the sign-in.
ALTER TABLE grants ADD COLUMN name TEXT COLLATE "C";
ALTER TABLE grants ADD COLUMN avatar TEXT COLLATE "C";
