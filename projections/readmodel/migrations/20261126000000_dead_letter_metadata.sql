-- Dead letters are applied with their metadata. Those of before have none.
ALTER TABLE linkledger.dead_letters ADD COLUMN metadata bytea;
