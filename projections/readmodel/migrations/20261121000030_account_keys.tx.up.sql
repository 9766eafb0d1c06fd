-- The keys of accounts, under which their notes lie in the log. They can't be made anew, so this table is part of a backup,
-- and may have been restored before.
CREATE TABLE IF NOT EXISTS linkledger.account_keys (
    account_id uuid  PRIMARY KEY,
    wrapped    bytea,                   -- the key under the master key, bound to the account; NULL: the account was erased
    master     text  NOT NULL DEFAULT '' -- name of the master key, see MasterKey
);
