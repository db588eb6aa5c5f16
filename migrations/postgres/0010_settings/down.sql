DROP TABLE settings_edits;
DROP TABLE settings;
DROP TABLE settings_schema;
