CREATE TABLE IF NOT EXISTS linkledger.projections (
    name        text        PRIMARY KEY,
    generation  integer     NOT NULL,            -- the generation that serves
    commit_pos  bigint      NOT NULL DEFAULT 0,  -- the log is in the tables up to here
    prepare_pos bigint      NOT NULL DEFAULT 0,
    updated_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);                        -- free space for in-place updates by every batch
