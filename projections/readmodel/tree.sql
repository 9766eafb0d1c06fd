-- The Merkle tree over the log (RFC 6962), see events/proof. It is stored in tiles of height 8, as
-- c2sp.org/tlog-tiles describes. The last tile of each level grows. All other tiles are full and
-- never change.
CREATE TABLE ?schema.tree_tiles (
    -- Level 0 has the hashes of events. Each hash of a higher level is the root of a full tile of
    -- the level below.
    level       smallint NOT NULL,
    number      bigint   NOT NULL, -- place of the tile in its level, from 0
    hashes      bytea    NOT NULL, -- 1 to 256 hashes of 32 bytes
    commit_pos  bigint   NOT NULL, -- position of the first event of the tile
    prepare_pos bigint   NOT NULL,
    PRIMARY KEY (level, number)
);

-- Finds the tile that contains the leaf of an event.
CREATE INDEX tree_tiles_position ON ?schema.tree_tiles (level, commit_pos, prepare_pos);
