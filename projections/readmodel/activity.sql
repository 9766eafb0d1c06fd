-- The API calls and commands that have changed something. Changes by operators have the zero UUID
-- as account.
CREATE TABLE ?schema.activity (
    batch        uuid        PRIMARY KEY,  -- shared by all events of the call
    account_id   uuid        NOT NULL,
    position     bigint      NOT NULL,     -- commit position of the call's first event
    at           timestamptz NOT NULL,     -- when the event store recorded the first event
    last_at      timestamptz NOT NULL,     -- when the event store recorded the last event
    last_stream  text        NOT NULL,     -- stream of the last event, to count each change once
    key_id       text        NOT NULL,
    user_id      uuid        NOT NULL,     -- the person who called; zero UUID: none
    via          text        NOT NULL,     -- api, cli or console
    request      text        NOT NULL,
    created      integer     NOT NULL,     -- number of links created; likewise below
    edited       integer     NOT NULL,
    deleted      integer     NOT NULL,
    restored     integer     NOT NULL,
    reset        integer     NOT NULL,     -- links whose clicks were reset
    tags         integer     NOT NULL,     -- number of changes of tags
    account      integer     NOT NULL,     -- number of changes of the account and its keys
    undoes       uuid        NOT NULL,     -- the call that this one undoes; zero UUID: none
    undoes_key   text        NOT NULL,     -- the key whose changes this call undoes; empty: none
    undoes_since timestamptz               -- changes of undoes_key since then are undone
) WITH (fillfactor = 90);

CREATE INDEX activity_account ON ?schema.activity (account_id, position) INCLUDE (key_id);
CREATE INDEX activity_request ON ?schema.activity USING hash (request);
CREATE INDEX activity_undoes ON ?schema.activity (undoes)
    WHERE undoes <> '00000000-0000-0000-0000-000000000000';
CREATE INDEX activity_undoes_key ON ?schema.activity (account_id, undoes_key)
    WHERE undoes_key <> '';
