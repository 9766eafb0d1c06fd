-- The RFC 6962 Merkle tree over the log, see events/proof, in tiles of height 8 (c2sp.org/tlog-tiles). The last tile of
-- each level grows, all others are full and never change.
CREATE TABLE ?schema.tree_tiles (
    level       smallint NOT NULL, -- 0: the hashes are those of events; above, each is the root of a full tile of the level below
    number      bigint   NOT NULL, -- in its level, from 0
    hashes      bytea    NOT NULL, -- 1 to 256 of 32 bytes, one after the other
    commit_pos  bigint   NOT NULL, -- of the event that began the tile
    prepare_pos bigint   NOT NULL,
    PRIMARY KEY (level, number)
);

-- Which tile has the leaf of an event?
CREATE INDEX tree_tiles_position ON ?schema.tree_tiles (level, commit_pos, prepare_pos);
