DROP TABLE platform_pause;
