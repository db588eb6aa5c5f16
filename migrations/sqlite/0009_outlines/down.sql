DROP TABLE outlines;
