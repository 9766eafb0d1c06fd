-- These tables have the versions of links, tags and accounts at any moment. A moment is the time at
-- which the event store recorded an event, in nanoseconds since 1970. Within an account moments
-- never decrease: if the clock of the event store goes back, later events get the latest moment so
-- far.
CREATE TABLE ?schema.account_clocks (
    account_id uuid    PRIMARY KEY,
    moment     bigint  NOT NULL,  -- moment of the account's last event
    lead       bigint  NOT NULL,  -- most that a link's modified_at was after its moment, in ns
    links      integer NOT NULL   -- links so far, also the number of the next link
) WITH (fillfactor = 50);

-- A version of an account is valid from the moment since until the next version of the account.
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
    label      text,  -- NULL: the tag is deleted
    PRIMARY KEY (tag_id, since)
);
CREATE INDEX tag_versions_account ON ?schema.tag_versions (account_id);

-- A version of a link is valid from one event of its stream to the next. Deleted links have
-- versions too.
CREATE TABLE ?schema.link_versions (
    account_id      uuid        NOT NULL,
    number          integer     NOT NULL,  -- place of the link in its account, from 0, by creation
    since           bigint      NOT NULL,
    until           bigint      NOT NULL,  -- moment of the next version; the newest one: Forever
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
COMMENT ON TABLE ?schema.link_versions IS 'Links of the streams url- and hash-'; -- see links.sql
-- For lists ordered by modification. The index includes since and until, so that it answers a list
-- without the table.
CREATE INDEX link_versions_modified
    ON ?schema.link_versions (account_id, modified_at, number) INCLUDE (since, until)
    WHERE deleted_at IS NULL;

-- The search texts of links. A text is valid from the moment in column since to the one in column
-- until. Texts have a table of their own because a link has far more versions than texts. A search
-- of the past reads all texts of an account. An index of the texts, as link_texts has, would slow
-- down each change of a link, and searches of the past are rare. A deleted link keeps its last
-- text, whose column until is the moment of the deletion.
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
-- The comment is part of the shape of the table: see link_texts in links.sql.
COMMENT ON TABLE ?schema.text_versions
    IS 'NFC, full case folding, one kind of blanks, no variation selectors';
CREATE INDEX text_versions_number ON ?schema.text_versions (account_id, number);
CREATE INDEX text_versions_hash ON ?schema.text_versions (account_id, hash, number)
    INCLUDE (since, until);

-- The changes of the sets of links; link_sets in links.sql defines sets and blocks. A page is a row
-- with the changes of a block from the moment in column since until the next page begins. To get
-- the set at a moment within a page, a reader takes bits and reverts the changes after that moment.
CREATE TABLE ?schema.set_pages (
    account_id uuid       NOT NULL,
    name       text       COLLATE "C" NOT NULL,
    block      integer    NOT NULL,
    since      bigint     NOT NULL,
    last       bigint     NOT NULL,  -- moment of the last change in the page
    bits       bit(2048)  NOT NULL,  -- the set after the last change
    numbers    smallint[] NOT NULL,  -- which bits changed, oldest change first
    moments    bigint[]   NOT NULL,  -- the moments of these changes
    PRIMARY KEY (account_id, name, block, since)
) WITH (fillfactor = 70);
