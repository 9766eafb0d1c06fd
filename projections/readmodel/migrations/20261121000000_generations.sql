-- One row per generation contains checkpoint, lease and fence, so that a batch checks and moves all
-- of them in one UPDATE.
ALTER TABLE linkledger.projections RENAME TO generations;
ALTER TABLE linkledger.generations
    DROP CONSTRAINT projections_pkey,
    ADD PRIMARY KEY (name, generation),
    ADD COLUMN serving     boolean     NOT NULL DEFAULT false, -- readers see this generation
    ADD COLUMN epoch       bigint      NOT NULL DEFAULT 0,     -- counts the owners; fences former owners
    ADD COLUMN owner       text        NOT NULL DEFAULT '',    -- the process that keeps it up to date; empty: none
    ADD COLUMN lease_until timestamptz NOT NULL DEFAULT 'epoch';
UPDATE linkledger.generations SET serving = true;
CREATE UNIQUE INDEX generations_serving ON linkledger.generations (name) WHERE serving;
