-- The links as they are now. Deleted links keep their row, so that visitors are told that the link
-- is gone.
CREATE TABLE ?schema.links (
    id              uuid        PRIMARY KEY,
    account_id      uuid        NOT NULL,
    number          integer     NOT NULL,  -- place of the link in its account, from 0, by creation
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
    revision        bigint      NOT NULL,  -- of the last applied event, in the link's stream
    deleted_at      timestamptz
) WITH (fillfactor = 90);
-- This comment names the streams that the projection reads, and is part of the shape of the tables.
-- A version that reads other streams changes the comment, so that it builds its tables anew.
COMMENT ON TABLE ?schema.links IS 'Links of the streams url- and hash-';

-- The index is not unique: in the log a hash leads to at most one live link, but while a projection
-- writes a batch of events, two rows may have the same hash.
CREATE INDEX links_hash ON ?schema.links (hash);
-- For the orders of lists. Each index ends with the number of the link, so that the index answers a
-- list without the table.
CREATE INDEX links_number ON ?schema.links (account_id, number) WHERE deleted_at IS NULL;
CREATE INDEX links_hashes ON ?schema.links (account_id, hash, number) WHERE deleted_at IS NULL;
CREATE INDEX links_modified ON ?schema.links (account_id, modified_at, number)
    WHERE deleted_at IS NULL;
-- For the links to a long URL, oldest first. The index has a hash of the URL instead of its text.
CREATE INDEX links_long_url
    ON ?schema.links (account_id, hashtextextended(long_url, 0), position, id)
    WHERE deleted_at IS NULL;

-- For the list of deleted links.
CREATE INDEX links_deleted ON ?schema.links (account_id, deleted_at, number)
    WHERE deleted_at IS NOT NULL;

-- How many links an account has created, restored and deleted.
CREATE TABLE ?schema.link_tallies (
    account_id   uuid    PRIMARY KEY,
    created      integer NOT NULL,  -- also the number of the next link
    restorations bigint  NOT NULL,  -- how often a deleted link was restored
    deletions    bigint  NOT NULL
) WITH (fillfactor = 50);

-- A set of links of an account: all live links, all links with a flag or a tag, or all links that
-- were created on a day. A set is divided into blocks. Bit n of block b stands for the link with
-- the number 2048 b + n. A deleted link leaves the set of live links, and stays in its other sets.
CREATE TABLE ?schema.link_sets (
    account_id uuid      NOT NULL,
    name       text      COLLATE "C" NOT NULL,  -- see SetLive, SetOfTag, SetOfDay
    block      integer   NOT NULL,
    bits       bit(2048) NOT NULL,
    PRIMARY KEY (account_id, name, block)
) WITH (fillfactor = 70);

-- The search texts of live links: long URL, note and hash, folded (SearchText) and separated by
-- line breaks, in UTF-8. They have a table of their own, so that a scan reads only texts. An edit
-- that does not change the text of a link does not update the index.
CREATE TABLE ?schema.link_texts (
    account_id uuid    NOT NULL,
    number     integer NOT NULL,
    text       bytea   NOT NULL,
    PRIMARY KEY (account_id, number)
);
-- A version that folds texts in another way changes this comment, as for links above.
COMMENT ON TABLE ?schema.link_texts
    IS 'NFC, full case folding, one kind of blanks, no variation selectors';
CREATE INDEX link_texts_search ON ?schema.link_texts
    USING gin (linkledger.utf8(text) gin_trgm_ops);

-- The counters of clicks. They have a table of their own with narrow rows, so that a click does not
-- update the indexes of links.
CREATE TABLE ?schema.link_stats (
    url_id        uuid        PRIMARY KEY,
    account_id    uuid,     -- as in links; NULL until the link is created
    number        integer,  -- as in links; NULL until the link is created
    total_clicks  bigint      NOT NULL,
    unique_clicks bigint      NOT NULL,
    last_visit    timestamptz,
    visited       boolean     NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX link_stats_clicks ON ?schema.link_stats (account_id, total_clicks, number)
    WHERE total_clicks > 0;

CREATE TABLE ?schema.link_days (
    url_id        uuid   NOT NULL,
    day           date   NOT NULL,  -- UTC
    total_clicks  bigint NOT NULL,
    unique_clicks bigint NOT NULL,  -- visitors whose first click on the link was on this day
    PRIMARY KEY (url_id, day)
) WITH (fillfactor = 70);

-- The visitors of each link, to count each visitor once. While operators rotate the visitor key, a
-- visitor can have two rows, one for each key.
CREATE TABLE ?schema.visitors (
    url_id  uuid NOT NULL,
    visitor text COLLATE "C" NOT NULL,  -- hash of address and user agent, under a visitor key
    day     date,                       -- of the first click, UTC; NULL: in another row
    PRIMARY KEY (url_id, visitor)
);

-- Counters that a reset of a link's stats has removed. They are added back when the reset is
-- undone.
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

-- The links that each API call has changed, so that the whole call can be undone.
CREATE TABLE ?schema.link_batches (
    batch  uuid NOT NULL,
    url_id uuid NOT NULL,
    PRIMARY KEY (batch, url_id)
);
