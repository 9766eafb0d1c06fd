-- The keys of accounts, which encrypt their notes in the log.
CREATE TABLE IF NOT EXISTS linkledger_keys.account_keys (
    account_id uuid  PRIMARY KEY,
    wrapped    bytea,                   -- by the master key, bound to the account; NULL: erased
    master     text  NOT NULL DEFAULT '' -- name of the master key, see MasterKey
);

-- Random bytes that all processes share.
CREATE TABLE IF NOT EXISTS linkledger_keys.secrets (
    name  text  PRIMARY KEY,
    value bytea NOT NULL
);

-- When each API key was used last, at the latest a minute ago.
CREATE TABLE IF NOT EXISTS linkledger_keys.key_uses (
    account_id uuid        NOT NULL,
    key_id     text        NOT NULL,
    last_used  timestamptz NOT NULL,
    PRIMARY KEY (account_id, key_id)
) WITH (fillfactor = 50);
