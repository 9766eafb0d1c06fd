-- The links as they are now. Deleted ones keep their row, so that a visitor learns that the link is gone.
CREATE TABLE ?schema.links (
    id              uuid        PRIMARY KEY,
    account_id      uuid        NOT NULL,
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
CREATE INDEX links_newest ON ?schema.links (account_id, position DESC, id DESC) WHERE deleted_at IS NULL;
-- For the links to a long URL, the oldest first. The hash keeps long URLs out of the index.
CREATE INDEX links_long_url ON ?schema.links (account_id, hashtextextended(long_url, 0), position, id)
    WHERE deleted_at IS NULL;
CREATE INDEX links_modified ON ?schema.links (account_id, modified_at DESC, position DESC, id DESC)
    WHERE deleted_at IS NULL;
-- One index for all that a search looks at.
CREATE INDEX links_search ON ?schema.links
    USING gin ((long_url || E'\n' || note || E'\n' || hash COLLATE "default") gin_trgm_ops) WHERE deleted_at IS NULL;
CREATE INDEX links_tags ON ?schema.links USING gin (tag_ids) WHERE deleted_at IS NULL;

-- Counters lie beside the links, in narrow rows without further indexes, so that counting a click rewrites no index.
CREATE TABLE ?schema.link_stats (
    url_id        uuid        PRIMARY KEY,
    total_clicks  bigint      NOT NULL,
    unique_clicks bigint      NOT NULL,
    last_visit    timestamptz,
    visited       boolean     NOT NULL
) WITH (fillfactor = 70);

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
    day     date NOT NULL,              -- of the first click, UTC
    PRIMARY KEY (url_id, visitor)
);
