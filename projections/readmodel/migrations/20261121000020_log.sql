-- The log that the read models are built from, so that they are never continued from another log.
CREATE TABLE linkledger.log (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id  uuid    NOT NULL
);
