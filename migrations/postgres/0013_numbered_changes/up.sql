-- SQLite numbers changes without this column. Here it is a part of the row that each writer locks anyway.
COMMENT ON COLUMN history.revision IS 'the number of the newest change';
