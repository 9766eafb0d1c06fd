-- How long the build of a generation took, from which operators learn how long the next one takes.
ALTER TABLE linkledger.generations
    ADD COLUMN created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN built_at   timestamptz,                 -- when it first served; null: never built
    ADD COLUMN built_pos  bigint NOT NULL DEFAULT 0;   -- its commit position then
