-- The RFC 6962 Merkle tree over the log, see events/proof, in tiles of height 8
-- (c2sp.org/tlog-tiles). The last tile of each level grows. All other tiles are full and never
-- change.
CREATE TABLE ?schema.tree_tiles (
    -- Level 0 has the hashes of events. Each hash of a higher level is the root of a full tile of the
    -- level below.
    level       smallint NOT NULL,
    number      bigint   NOT NULL, -- within the level, from 0
    hashes      bytea    NOT NULL, -- 1 to 256 hashes of 32 bytes
    commit_pos  bigint   NOT NULL, -- of the first event of the tile
    prepare_pos bigint   NOT NULL,
    PRIMARY KEY (level, number)
);

-- Finds the tile that contains the leaf of an event.
CREATE INDEX tree_tiles_position ON ?schema.tree_tiles (level, commit_pos, prepare_pos);
