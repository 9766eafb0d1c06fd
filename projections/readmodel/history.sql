-- What links, tags and accounts were at any moment. A moment is the time at which the event store has recorded an event, in
-- nanoseconds since 1970. Within an account moments never go back, also where the clock of the event store does: then what
-- comes later in the log counts from the latest moment so far.
CREATE TABLE ?schema.account_clocks (
    account_id uuid    PRIMARY KEY,
    moment     bigint  NOT NULL,  -- of its last event
    lead       bigint  NOT NULL,  -- most nanoseconds that a link's modified_at was ahead of its moment
    links      integer NOT NULL   -- number of its next link
) WITH (fillfactor = 50);

-- An account from a moment until that of its next version.
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

-- A link from one event of its stream to the next, also while it is deleted.
CREATE TABLE ?schema.link_versions (
    account_id      uuid        NOT NULL,
    number          integer     NOT NULL,  -- counts the account's links from 0 in the order of their creation
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
-- The order by modification: it is walked without the rows.
CREATE INDEX link_versions_modified ON ?schema.link_versions (account_id, modified_at, number) INCLUDE (since, until)
    WHERE deleted_at IS NULL;

-- What a link is found by: the last one that it has, or had when it was deleted. Beside the versions, of which there are
-- many more.
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
CREATE INDEX link_faces_hash ON ?schema.link_faces (account_id, hash, number) INCLUDE (since, until);
CREATE INDEX link_faces_search ON ?schema.link_faces USING gin (linkledger.utf8(text) gin_trgm_ops);
-- Rows that are replaced leave their places to later ones, so that the place tells nothing of the time (BRIN): a question for
-- when hardly any of them was there would read all.
CREATE INDEX link_faces_since ON ?schema.link_faces (since);

-- Those before.
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
CREATE INDEX former_faces_hash ON ?schema.former_faces (account_id, hash, number) INCLUDE (since, until);
CREATE INDEX former_faces_search ON ?schema.former_faces USING gin (linkledger.utf8(text) gin_trgm_ops);
-- They come in about the order in which they were given up: a search passes by those that were gone at its moment too.
CREATE INDEX former_faces_time ON ?schema.former_faces USING brin (since, until)
    WITH (pages_per_range = 16, autosummarize = on);

-- Sets of links as in link_sets, with each change. A page has the changes of a block from its first moment to the next
-- page; the set at a moment between them is bits without the changes after it.
CREATE TABLE ?schema.set_pages (
    account_id uuid       NOT NULL,
    name       text       COLLATE "C" NOT NULL,
    block      integer    NOT NULL,
    since      bigint     NOT NULL,
    last       bigint     NOT NULL,  -- moment of the last change
    bits       bit(2048)  NOT NULL,  -- after the last change
    numbers    smallint[] NOT NULL,  -- of the bits that changed, in their order
    moments    bigint[]   NOT NULL,  -- at which they did
    PRIMARY KEY (account_id, name, block, since)
) WITH (fillfactor = 70);
