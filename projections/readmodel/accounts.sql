CREATE TABLE ?schema.accounts (
    id              uuid        PRIMARY KEY,
    username        text        COLLATE "C" NOT NULL,
    plan            text        NOT NULL,
    key_id          text        NOT NULL,
    key_hash        text        NOT NULL,  -- SHA-256 of the API key, hex
    active          boolean     NOT NULL,
    expiration_date date,                  -- the last day of its use, UTC
    erased          boolean     NOT NULL,  -- its notes are gone, and nobody uses it any more
    created_at      timestamptz NOT NULL,
    urls            bigint      NOT NULL,  -- links that are not deleted
    deletions       bigint      NOT NULL   -- of links
) WITH (fillfactor = 70);

CREATE INDEX accounts_username ON ?schema.accounts (username);

CREATE TABLE ?schema.account_months (
    account_id uuid   NOT NULL,
    month      date   NOT NULL,  -- its first day, UTC
    urls       bigint NOT NULL,  -- links created in it, also those deleted since
    PRIMARY KEY (account_id, month)
) WITH (fillfactor = 70);
