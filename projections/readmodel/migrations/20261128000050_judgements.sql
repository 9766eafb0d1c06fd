-- By which words a generation counts clicks: see linkledger_keys.judgements in the package keystore.
-- A program of before would count clicks as they were recorded.
ALTER TABLE linkledger.generations
    ADD COLUMN judgement bigint DEFAULT 0; -- its number; 0: none; null: the newest, not chosen yet
