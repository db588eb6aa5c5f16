DROP TABLE notices;
DROP TABLE periods;
