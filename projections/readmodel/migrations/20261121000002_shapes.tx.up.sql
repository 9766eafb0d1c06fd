ALTER TABLE linkledger.generations
    ADD COLUMN shape text    NOT NULL DEFAULT '',   -- fingerprint of its tables; only programs of that shape project into it
    ADD COLUMN built boolean NOT NULL DEFAULT true; -- false while it is on its way to take over for the first time
