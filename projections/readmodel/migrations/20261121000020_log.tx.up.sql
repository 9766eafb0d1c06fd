-- The log that the read models are built from, so that they are not gone on with from another one.
CREATE TABLE linkledger.log (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id  uuid    NOT NULL
);
