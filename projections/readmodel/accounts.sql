CREATE TABLE ?schema.accounts (
    id              uuid        PRIMARY KEY,
    username        text        COLLATE "C" NOT NULL,
    plan            text        NOT NULL,
    active          boolean     NOT NULL,
    expiration_date date,                  -- last day on which it may be used, UTC
    erased          boolean     NOT NULL,  -- its notes are gone, and it cannot be used
    created_at      timestamptz NOT NULL,
    changed         bigint      NOT NULL   -- commit position of the last change, 0: none since it was opened
) WITH (fillfactor = 70);

CREATE INDEX accounts_username ON ?schema.accounts (username);
-- For the position of the last change of all accounts, which tells caches whether they are stale.
CREATE INDEX accounts_changed ON ?schema.accounts (changed);

-- The API keys. Revoked keys stay, because the history names them.
CREATE TABLE ?schema.account_keys (
    account_id      uuid        NOT NULL,
    id              text        COLLATE "C" NOT NULL,
    hash            text        NOT NULL,  -- SHA-256 of the key, hex
    name            text        NOT NULL,
    scopes          text        NOT NULL,  -- separated by spaces; empty: all
    tags            text        NOT NULL,  -- tag expression; empty: all links
    networks        text        NOT NULL,  -- separated by spaces; empty: all
    expiration_date date,                  -- last day on which it may be used, UTC
    created_at      timestamptz NOT NULL,
    revoked_at      timestamptz,
    PRIMARY KEY (account_id, id)
);
