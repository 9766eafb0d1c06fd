CREATE TABLE ?schema.accounts (
    id              uuid        PRIMARY KEY,
    username        text        COLLATE "C" NOT NULL,
    plan            text        NOT NULL,
    active          boolean     NOT NULL,
    expiration_date date,                  -- last day on which it may be used, UTC
    erased          boolean     NOT NULL,  -- its notes are gone, and it cannot be used
    created_at      timestamptz NOT NULL,
    changed         bigint      NOT NULL   -- commit position of the last change, 0: none since it was opened
) WITH (fillfactor = 70);

-- Unique, so that an account which another program opens under a taken name is set aside: it would
-- lock the account of that name out.
CREATE UNIQUE INDEX accounts_username ON ?schema.accounts (username);
-- For the position of the last change of all accounts, which tells caches whether they are stale.
CREATE INDEX accounts_changed ON ?schema.accounts (changed);

-- The API keys. Revoked keys stay, because the history names them.
CREATE TABLE ?schema.api_keys (
    account_id      uuid        NOT NULL,
    id              text        COLLATE "C" NOT NULL,
    hash            text        NOT NULL,  -- SHA-256 of the key, hex
    name            text        NOT NULL,
    scopes          text        NOT NULL,  -- separated by spaces; empty: all
    tags            text        NOT NULL,  -- tag expression; empty: all links
    networks        text        NOT NULL,  -- separated by spaces; empty: all
    expiration_date date,                  -- last day on which it may be used, UTC
    created_at      timestamptz NOT NULL,
    revoked_at      timestamptz,
    added           bigint      NOT NULL,  -- commit position
    ended           bigint      NOT NULL,  -- commit position of the revocation, 0: none
    PRIMARY KEY (account_id, id)
);

-- The members of accounts. Former members stay, because the history names them.
CREATE TABLE ?schema.account_members (
    account_id uuid        NOT NULL,
    user_id    uuid        NOT NULL,
    role       text        NOT NULL,
    group_name text        NOT NULL,  -- the group by which the person has the role; empty: none
    since      timestamptz NOT NULL,  -- when the role was given
    changed    bigint      NOT NULL,  -- commit position at which the role was given or ended
    removed_at timestamptz,
    PRIMARY KEY (account_id, user_id)
);

CREATE INDEX account_members_user ON ?schema.account_members (user_id);

-- The persons who have signed in. What their issuer says of them stays encrypted here too, so that
-- the deletion of the key makes it unreadable everywhere.
CREATE TABLE ?schema.people (
    id       uuid        PRIMARY KEY,
    known_at timestamptz NOT NULL,    -- when the details were recorded
    box      text        NOT NULL,    -- see events.Sealed, in base64; empty: erased
    erased   boolean     NOT NULL,
    ended    bigint      NOT NULL     -- commit position of the erasure, 0: none
);
