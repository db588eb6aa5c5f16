DROP TABLE changes;
DROP TABLE history;
