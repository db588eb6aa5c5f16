DROP TABLE clusters;
