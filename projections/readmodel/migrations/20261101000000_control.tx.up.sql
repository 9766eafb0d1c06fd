CREATE TABLE IF NOT EXISTS linkledger.projections (
    name        text        PRIMARY KEY,
    generation  integer     NOT NULL,            -- the one that serves
    commit_pos  bigint      NOT NULL DEFAULT 0,  -- up to here the log is in the tables
    prepare_pos bigint      NOT NULL DEFAULT 0,
    updated_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);                        -- every batch updates its row in place

CREATE TABLE IF NOT EXISTS linkledger.secrets (
    name  text  PRIMARY KEY,
    value bytea NOT NULL
);
