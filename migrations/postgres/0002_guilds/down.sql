DROP TABLE members;
DROP TABLE guilds;
