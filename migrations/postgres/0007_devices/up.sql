-- What the device of a session called itself. Sessions from before have none.
ALTER TABLE sessions ADD COLUMN user_agent TEXT;
