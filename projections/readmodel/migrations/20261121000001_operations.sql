ALTER TABLE linkledger.generations
    ADD COLUMN paused      boolean          NOT NULL DEFAULT false, -- by an operator: no process may own it
    ADD COLUMN resumptions bigint           NOT NULL DEFAULT 0,     -- counts the operators' requests to try again
    ADD COLUMN stopped     boolean          NOT NULL DEFAULT false, -- before an event that cannot be applied
    ADD COLUMN last_error  text             NOT NULL DEFAULT '',    -- why the owner makes no progress; empty: it does
    ADD COLUMN rate        double precision NOT NULL DEFAULT 0;     -- events per second since the owner's last renewal

-- Events that were set aside because they could not be applied, and the later events of their
-- streams.
CREATE TABLE linkledger.dead_letters (
    name        text        NOT NULL,
    generation  integer     NOT NULL,
    commit_pos  bigint      NOT NULL,
    prepare_pos bigint      NOT NULL,
    event_id    uuid        NOT NULL,
    stream      text        NOT NULL,
    revision    bigint      NOT NULL,
    type        text        NOT NULL,
    recorded_at timestamptz NOT NULL,
    data        bytea       NOT NULL,
    error       text        NOT NULL,
    parked_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, generation, commit_pos, prepare_pos),
    FOREIGN KEY (name, generation) REFERENCES linkledger.generations ON DELETE CASCADE
);
