-- The versions of links, tags and accounts at any moment. A moment is the time at which the event
-- store recorded an event, in nanoseconds since 1970. Within an account moments never decrease. If
-- the clock of the event store goes back, later events get the latest moment so far.
CREATE TABLE ?schema.account_clocks (
    account_id uuid    PRIMARY KEY,
    moment     bigint  NOT NULL,  -- of the account's last event
    lead       bigint  NOT NULL,  -- maximum of modified_at minus moment of a link, nanoseconds
    links      integer NOT NULL   -- number of the next link
) WITH (fillfactor = 50);

-- A version of an account is valid until the moment of its next version.
CREATE TABLE ?schema.account_versions (
    account_id      uuid    NOT NULL,
    since           bigint  NOT NULL,
    username        text    NOT NULL,
    plan            text    NOT NULL,
    active          boolean NOT NULL,
    expiration_date date,
    PRIMARY KEY (account_id, since)
);

CREATE TABLE ?schema.tag_versions (
    tag_id     uuid   NOT NULL,
    since      bigint NOT NULL,
    account_id uuid   NOT NULL,
    label      text,  -- NULL: deleted
    PRIMARY KEY (tag_id, since)
);
CREATE INDEX tag_versions_account ON ?schema.tag_versions (account_id);

-- A version of a link is valid from one event of its stream to the next. Deleted links have
-- versions too.
CREATE TABLE ?schema.link_versions (
    account_id      uuid        NOT NULL,
    number          integer     NOT NULL,  -- of the link in its account, from 0 in order of creation
    since           bigint      NOT NULL,
    until           bigint      NOT NULL,  -- see Forever
    id              uuid        NOT NULL,
    hash            text        COLLATE "C" NOT NULL,
    long_url        text        NOT NULL,
    note            text        NOT NULL,
    email_stats     boolean     NOT NULL,
    ping            boolean     NOT NULL,
    protected       boolean     NOT NULL,
    archived        boolean     NOT NULL,
    expiration_date date,
    max_clicks      bigint      NOT NULL,
    tag_ids         uuid[]      NOT NULL,
    created_at      timestamptz NOT NULL,
    modified_at     timestamptz NOT NULL,
    revision        bigint      NOT NULL,
    deleted_at      timestamptz,
    PRIMARY KEY (account_id, number, since)
) WITH (fillfactor = 90);
COMMENT ON TABLE ?schema.link_versions IS 'Links of the streams url- and hash-'; -- see links
-- For lists ordered by modification. It includes since and until so that a list is read from the
-- index alone.
CREATE INDEX link_versions_modified
    ON ?schema.link_versions (account_id, modified_at, number) INCLUDE (since, until)
    WHERE deleted_at IS NULL;

-- The latest search text of a link, or the last one before it was deleted. Search texts have their
-- own table because a link has far more versions than texts.
CREATE TABLE ?schema.link_faces (
    account_id uuid    NOT NULL,
    since      bigint  NOT NULL,
    until      bigint  NOT NULL,
    number     integer NOT NULL,
    text       bytea   NOT NULL,  -- see SearchText
    hash       text    COLLATE "C" NOT NULL,
    link_id    uuid    PRIMARY KEY
);
CREATE INDEX link_faces_number ON ?schema.link_faces (account_id, number);
CREATE INDEX link_faces_hash ON ?schema.link_faces (account_id, hash, number)
    INCLUDE (since, until);
CREATE INDEX link_faces_search ON ?schema.link_faces
    USING gin (linkledger.utf8(text) gin_trgm_ops);
-- For searches at a moment when few of the links existed, which would otherwise read all rows. A
-- BRIN index does not work here: new rows reuse the space of replaced ones, so the position of a
-- row is not related to its time.
CREATE INDEX link_faces_since ON ?schema.link_faces (since);

-- The earlier search texts of links.
CREATE TABLE ?schema.former_faces (
    account_id uuid    NOT NULL,
    since      bigint  NOT NULL,
    until      bigint  NOT NULL,
    number     integer NOT NULL,
    text       bytea   NOT NULL,
    hash       text    COLLATE "C" NOT NULL,
    link_id    uuid    NOT NULL,
    PRIMARY KEY (link_id, since)
);
CREATE INDEX former_faces_number ON ?schema.former_faces (account_id, number);
CREATE INDEX former_faces_hash ON ?schema.former_faces (account_id, hash, number)
    INCLUDE (since, until);
CREATE INDEX former_faces_search ON ?schema.former_faces
    USING gin (linkledger.utf8(text) gin_trgm_ops);
-- Rows are inserted approximately in the order in which the texts were replaced, so BRIN works: a
-- search skips the texts that were replaced before its moment.
CREATE INDEX former_faces_time ON ?schema.former_faces USING brin (since, until)
    WITH (pages_per_range = 16, autosummarize = on);

-- The changes of sets of links, see link_sets. A page contains the changes of a block from its
-- first moment until the next page. The set at a moment within a page is bits with the changes
-- after that moment reverted.
CREATE TABLE ?schema.set_pages (
    account_id uuid       NOT NULL,
    name       text       COLLATE "C" NOT NULL,
    block      integer    NOT NULL,
    since      bigint     NOT NULL,
    last       bigint     NOT NULL,  -- moment of the last change
    bits       bit(2048)  NOT NULL,  -- after the last change
    numbers    smallint[] NOT NULL,  -- of the bits that changed, oldest change first
    moments    bigint[]   NOT NULL,  -- of these changes
    PRIMARY KEY (account_id, name, block, since)
) WITH (fillfactor = 70);
