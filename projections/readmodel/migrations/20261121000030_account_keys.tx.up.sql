-- The keys of accounts, which encrypt their notes in the log. They cannot be rebuilt, so this table
-- is part of a backup. It may exist already, restored from one.
CREATE TABLE IF NOT EXISTS linkledger.account_keys (
    account_id uuid  PRIMARY KEY,
    wrapped    bytea,                   -- by the master key, bound to the account; NULL: erased
    master     text  NOT NULL DEFAULT '' -- name of the master key, see MasterKey
);
