CREATE TABLE ?schema.tags (
    id         uuid        PRIMARY KEY,
    account_id uuid        NOT NULL,
    label      text        NOT NULL,
    created_at timestamptz NOT NULL,
    position   bigint      NOT NULL  -- commit position of the creation
);

CREATE INDEX tags_oldest ON ?schema.tags (account_id, position, id);
