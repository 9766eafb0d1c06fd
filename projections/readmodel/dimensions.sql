-- Clicks of a link on a day, counted for each value of each dimension. A dimension is a property of
-- the click, such as the country. A click without such a property is not counted in that dimension.
CREATE TABLE ?schema.click_dimensions (
    url_id    uuid   NOT NULL,
    day       date   NOT NULL,                -- UTC
    dimension text   COLLATE "C" NOT NULL,    -- see the constants from DimensionReferrer on
    value     text   COLLATE "C" NOT NULL,    -- as in the click; see OtherValues
    clicks    bigint NOT NULL,
    PRIMARY KEY (url_id, day, dimension, value)
) WITH (fillfactor = 70);

-- Counters that a reset of a link's stats has removed. They are added back when the reset is
-- undone.
CREATE TABLE ?schema.reset_dimensions (
    url_id    uuid   NOT NULL,
    reset     bigint NOT NULL,  -- revision of the reset in the link's stream
    day       date   NOT NULL,
    dimension text   COLLATE "C" NOT NULL,
    value     text   COLLATE "C" NOT NULL,
    clicks    bigint NOT NULL,
    PRIMARY KEY (url_id, reset, day, dimension, value)
);
