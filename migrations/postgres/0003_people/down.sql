DROP TABLE team;
DROP TABLE blocked;
DROP TABLE staff;
DROP TABLE subscription_guilds;
DROP TABLE subscriptions;
