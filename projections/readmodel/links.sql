-- The links as they are now. Deleted ones keep their row, so that a visitor learns that the link is gone.
CREATE TABLE ?schema.links (
    id              uuid        PRIMARY KEY,
    account_id      uuid        NOT NULL,
    number          integer     NOT NULL,  -- counts the account's links from 0 in the order of their creation
    hash            text        COLLATE "C" NOT NULL,
    long_url        text        NOT NULL,
    note            text        NOT NULL,
    email_stats     boolean     NOT NULL,
    ping            boolean     NOT NULL,
    protected       boolean     NOT NULL,
    archived        boolean     NOT NULL,
    expiration_date date,
    max_clicks      bigint      NOT NULL,  -- 0: no limit
    tag_ids         uuid[]      NOT NULL,  -- in the order they were attached
    created_at      timestamptz NOT NULL,
    modified_at     timestamptz NOT NULL,
    position        bigint      NOT NULL,  -- commit position of the creation
    revision        bigint      NOT NULL,  -- of the last event of the link's stream that is in the row
    deleted_at      timestamptz
) WITH (fillfactor = 90);

-- Not unique: the log gives a hash one live owner, but within a batch rows pass through states that never were.
CREATE INDEX links_hash ON ?schema.links (hash);
-- The orders of lists. Each of them ends with the number, so that a list is cut from an index alone.
CREATE INDEX links_number ON ?schema.links (account_id, number) WHERE deleted_at IS NULL;
CREATE INDEX links_hashes ON ?schema.links (account_id, hash, number) WHERE deleted_at IS NULL;
CREATE INDEX links_modified ON ?schema.links (account_id, modified_at, number) WHERE deleted_at IS NULL;
-- For the links to a long URL, the oldest first. The hash keeps long URLs out of the index.
CREATE INDEX links_long_url ON ?schema.links (account_id, hashtextextended(long_url, 0), position, id)
    WHERE deleted_at IS NULL;

-- How many links an account has had so far.
CREATE TABLE ?schema.link_tallies (
    account_id   uuid    PRIMARY KEY,
    created      integer NOT NULL,  -- also the number of its next link
    restorations bigint  NOT NULL,  -- of deleted ones
    deletions    bigint  NOT NULL
) WITH (fillfactor = 50);

-- Sets of an account's links: those that are live, have a flag or a tag, or were created on a day. A set is cut into
-- blocks; bit n of block b stands for the link of number 2048 b + n. Deleted links leave no set but that of the live ones.
CREATE TABLE ?schema.link_sets (
    account_id uuid      NOT NULL,
    name       text      COLLATE "C" NOT NULL,  -- see SetLive and the names beside it
    block      integer   NOT NULL,
    bits       bit(2048) NOT NULL,
    PRIMARY KEY (account_id, name, block)
) WITH (fillfactor = 70);

-- What a search looks at, of live links: long URL, note and hash in lower case, with line breaks between them, in UTF-8. Beside the
-- links, so that a scan reads nothing else and an edit that changes no text leaves the index alone.
CREATE TABLE ?schema.link_texts (
    account_id uuid    NOT NULL,
    number     integer NOT NULL,
    text       bytea   NOT NULL,
    PRIMARY KEY (account_id, number)
);
CREATE INDEX link_texts_search ON ?schema.link_texts USING gin (linkledger.utf8(text) gin_trgm_ops);

-- Counters lie beside the links, in narrow rows, so that counting a click rewrites no index of theirs.
CREATE TABLE ?schema.link_stats (
    url_id        uuid        PRIMARY KEY,
    account_id    uuid,     -- as in links; NULL while the link is not there yet
    number        integer,  -- likewise
    total_clicks  bigint      NOT NULL,
    unique_clicks bigint      NOT NULL,
    last_visit    timestamptz,
    visited       boolean     NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX link_stats_clicks ON ?schema.link_stats (account_id, total_clicks, number) WHERE total_clicks > 0;

CREATE TABLE ?schema.link_days (
    url_id        uuid   NOT NULL,
    day           date   NOT NULL,  -- UTC
    total_clicks  bigint NOT NULL,
    unique_clicks bigint NOT NULL,  -- visitors whose first click on the link was on this day
    PRIMARY KEY (url_id, day)
) WITH (fillfactor = 70);

CREATE TABLE ?schema.visitors (
    url_id  uuid NOT NULL,
    visitor text COLLATE "C" NOT NULL,  -- keyed hash
    day     date,                       -- of the first click, UTC; NULL: a visitor who is there under another key
    PRIMARY KEY (url_id, visitor)
);

-- What resets of the stats took away, to give it back when one is undone. Whatever has no such reset counts.
CREATE TABLE ?schema.reset_days (
    url_id       uuid   NOT NULL,
    reset        bigint NOT NULL,  -- revision of the reset in the link's stream
    day          date   NOT NULL,
    total_clicks bigint NOT NULL,
    PRIMARY KEY (url_id, reset, day)
);

CREATE TABLE ?schema.reset_visitors (
    url_id  uuid   NOT NULL,
    reset   bigint NOT NULL,
    visitor text   COLLATE "C" NOT NULL,
    day     date,             -- as in visitors
    PRIMARY KEY (url_id, reset, visitor)
);

-- Which links a call of the API has changed, so that all that it did can be undone.
CREATE TABLE ?schema.link_batches (
    batch  uuid NOT NULL,
    url_id uuid NOT NULL,
    PRIMARY KEY (batch, url_id)
);
