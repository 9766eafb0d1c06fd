-- The current links. Deleted links keep their row, so that visitors get the answer that the link is
-- gone.
CREATE TABLE ?schema.links (
    id              uuid        PRIMARY KEY,
    account_id      uuid        NOT NULL,
    number          integer     NOT NULL,  -- of the link in its account, from 0 in order of creation
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
    revision        bigint      NOT NULL,  -- of the last event in the row, in the link's stream
    deleted_at      timestamptz
) WITH (fillfactor = 90);
-- A program that reads other streams has another comment and so another shape: it builds its tables
-- anew.
COMMENT ON TABLE ?schema.links IS 'Links of the streams url- and hash-';

-- The index is not unique. The log gives a hash at most one live owner, but while a batch is
-- written two rows may have the same hash.
CREATE INDEX links_hash ON ?schema.links (hash);
-- For the orders of lists. Each index ends with the number, so that a list is read from an index
-- alone.
CREATE INDEX links_number ON ?schema.links (account_id, number) WHERE deleted_at IS NULL;
CREATE INDEX links_hashes ON ?schema.links (account_id, hash, number) WHERE deleted_at IS NULL;
CREATE INDEX links_modified ON ?schema.links (account_id, modified_at, number)
    WHERE deleted_at IS NULL;
-- For the links to a long URL, oldest first. The hash keeps long URLs out of the index.
CREATE INDEX links_long_url
    ON ?schema.links (account_id, hashtextextended(long_url, 0), position, id)
    WHERE deleted_at IS NULL;

-- For the list of deleted links.
CREATE INDEX links_deleted ON ?schema.links (account_id, deleted_at, number)
    WHERE deleted_at IS NOT NULL;

-- The link counts of an account.
CREATE TABLE ?schema.link_tallies (
    account_id   uuid    PRIMARY KEY,
    created      integer NOT NULL,  -- also the number of the next link
    restorations bigint  NOT NULL,  -- of deleted links
    deletions    bigint  NOT NULL
) WITH (fillfactor = 50);

-- Sets of an account's links: the live links, the links with a flag or a tag, or those created on a
-- day. A set is divided into blocks. Bit n of block b stands for the link of number 2048 b + n.
-- Deleted links leave only the set of live links.
CREATE TABLE ?schema.link_sets (
    account_id uuid      NOT NULL,
    name       text      COLLATE "C" NOT NULL,  -- see SetLive and its neighbours
    block      integer   NOT NULL,
    bits       bit(2048) NOT NULL,
    PRIMARY KEY (account_id, name, block)
) WITH (fillfactor = 70);

-- The search texts of live links: long URL, note and hash, folded (SearchText) and separated by line
-- breaks, in UTF-8. They have their own table, so that a scan reads nothing else, and an edit that does not
-- change the text does not update the index.
CREATE TABLE ?schema.link_texts (
    account_id uuid    NOT NULL,
    number     integer NOT NULL,
    text       bytea   NOT NULL,
    PRIMARY KEY (account_id, number)
);
-- A program that folds texts in another way has another comment here, see links.
COMMENT ON TABLE ?schema.link_texts
    IS 'NFC, full case folding, one kind of blanks, no variation selectors';
CREATE INDEX link_texts_search ON ?schema.link_texts
    USING gin (linkledger.utf8(text) gin_trgm_ops);

-- The counters have their own table with narrow rows, so that counting a click does not update the
-- indexes of links.
CREATE TABLE ?schema.link_stats (
    url_id        uuid        PRIMARY KEY,
    account_id    uuid,     -- as in links; NULL while the link does not exist yet
    number        integer,  -- as account_id
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

CREATE TABLE ?schema.visitors (
    url_id  uuid NOT NULL,
    visitor text COLLATE "C" NOT NULL,  -- keyed hash
    day     date,                       -- of the first click, UTC; NULL: also stored under another key
    PRIMARY KEY (url_id, visitor)
);

-- Counters that resets of the stats have removed. They are added back when a reset is undone.
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

-- The links that a call of the API has changed, so that the whole call can be undone.
CREATE TABLE ?schema.link_batches (
    batch  uuid NOT NULL,
    url_id uuid NOT NULL,
    PRIMARY KEY (batch, url_id)
);
