DROP TABLE spent_codes;
DROP TABLE grants;
DROP TABLE sessions;
