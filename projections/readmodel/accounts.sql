CREATE TABLE ?schema.accounts (
    id              uuid        PRIMARY KEY,
    username        text        COLLATE "C" NOT NULL,
    plan            text        NOT NULL,
    key_id          text        NOT NULL,
    key_hash        text        NOT NULL,  -- SHA-256 of the API key, hex
    active          boolean     NOT NULL,
    expiration_date date,                  -- last day on which it may be used, UTC
    erased          boolean     NOT NULL,  -- its notes are gone, and it cannot be used
    created_at      timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX accounts_username ON ?schema.accounts (username);
