-- 1 more readable records in an export.
-- The second one has a kind of channel that is invalid.
INSERT INTO outlines (guild, channels, roles) VALUES
    (1, '[["11","général","text"]]', '[["12","Moderator","#1ABC9C"],["13","",null]]'),
    (-1, '[["11","general","street"]]', '[]');
