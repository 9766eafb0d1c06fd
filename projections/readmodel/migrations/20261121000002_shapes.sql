ALTER TABLE linkledger.generations
    ADD COLUMN shape text    NOT NULL DEFAULT '',   -- fingerprint of its tables, see Shape
    ADD COLUMN built boolean NOT NULL DEFAULT true; -- it serves or has served
