-- The last event of the log that a generation is known to have, at its checkpoint or before it. A log
-- that was restored from a backup and then written on has another event there. Programs of before move
-- the checkpoint alone, so the event has a position of its own. Its id is that of eventstore.Identity.
ALTER TABLE linkledger.generations
    ADD COLUMN witness_commit  bigint NOT NULL DEFAULT 0,
    ADD COLUMN witness_prepare bigint NOT NULL DEFAULT 0,
    ADD COLUMN witness_id      uuid; -- null: not known
