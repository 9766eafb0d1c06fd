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

-- The search texts of links, each valid from since until until. They have their own table because a
-- link has far more versions than texts. Searches read all texts of an account: an index of them, as
-- link_texts has, would cost each change of a link more than it saves the few who search the past.
-- A deleted link keeps its last text, which has ended.
CREATE TABLE ?schema.text_versions (
    link_id    uuid    NOT NULL,
    since      bigint  NOT NULL,
    until      bigint  NOT NULL,
    account_id uuid    NOT NULL,
    number     integer NOT NULL,
    hash       text    COLLATE "C" NOT NULL,
    text       bytea   NOT NULL,  -- see SearchText
    PRIMARY KEY (link_id, since)
);
-- See link_texts.
COMMENT ON TABLE ?schema.text_versions
    IS 'NFC, full case folding, one kind of blanks, no variation selectors';
CREATE INDEX text_versions_number ON ?schema.text_versions (account_id, number);
CREATE INDEX text_versions_hash ON ?schema.text_versions (account_id, hash, number)
    INCLUDE (since, until);

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
