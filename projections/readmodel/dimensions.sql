-- Clicks of a link on a day by properties of the visitor. A click without a property has no row for
-- it.
CREATE TABLE ?schema.click_dimensions (
    url_id    uuid   NOT NULL,
    day       date   NOT NULL,                -- UTC
    dimension text   COLLATE "C" NOT NULL,    -- see DimensionReferrer and its neighbours
    value     text   COLLATE "C" NOT NULL,    -- as in the click; see OtherValues
    clicks    bigint NOT NULL,
    PRIMARY KEY (url_id, day, dimension, value)
) WITH (fillfactor = 70);

-- Counters that resets of the stats have removed, as in reset_days.
CREATE TABLE ?schema.reset_dimensions (
    url_id    uuid   NOT NULL,
    reset     bigint NOT NULL,  -- revision of the reset in the link's stream
    day       date   NOT NULL,
    dimension text   COLLATE "C" NOT NULL,
    value     text   COLLATE "C" NOT NULL,
    clicks    bigint NOT NULL,
    PRIMARY KEY (url_id, reset, day, dimension, value)
);
