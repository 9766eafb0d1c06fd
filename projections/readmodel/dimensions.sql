-- Clicks of a link on a day by what they tell of their visitors. What a click does not tell has no row.
CREATE TABLE ?schema.click_dimensions (
    url_id    uuid   NOT NULL,
    day       date   NOT NULL,                -- UTC
    dimension text   COLLATE "C" NOT NULL,    -- see DimensionReferrer and the names beside it
    value     text   COLLATE "C" NOT NULL,    -- as in the click; see OtherValues
    clicks    bigint NOT NULL,
    PRIMARY KEY (url_id, day, dimension, value)
) WITH (fillfactor = 70);

-- What resets of the stats took away, as in reset_days.
CREATE TABLE ?schema.reset_dimensions (
    url_id    uuid   NOT NULL,
    reset     bigint NOT NULL,  -- revision of the reset in the link's stream
    day       date   NOT NULL,
    dimension text   COLLATE "C" NOT NULL,
    value     text   COLLATE "C" NOT NULL,
    clicks    bigint NOT NULL,
    PRIMARY KEY (url_id, reset, day, dimension, value)
);
