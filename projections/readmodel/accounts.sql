CREATE TABLE ?schema.accounts (
    id              uuid        PRIMARY KEY,
    username        text        COLLATE "C" NOT NULL,
    plan            text        NOT NULL,
    active          boolean     NOT NULL,
    expiration_date date,                  -- last day on which the account may be used, UTC
    erased          boolean     NOT NULL,  -- its notes are unreadable, and it cannot be used
    created_at      timestamptz NOT NULL,
    changed         bigint      NOT NULL   -- commit position of the last change; 0: never changed
) WITH (fillfactor = 70);

-- Another program may open an account in the log under a taken name, which would lock the first
-- account out. The index is unique, so the event of the second account is set aside as a dead
-- letter.
CREATE UNIQUE INDEX accounts_username ON ?schema.accounts (username);
-- Finds the newest position of a change of any account. Caches compare it with theirs to see
-- whether they are stale.
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
    expiration_date date,                  -- last day on which the key may be used, UTC
    created_at      timestamptz NOT NULL,
    revoked_at      timestamptz,
    added           bigint      NOT NULL,  -- commit position of the event that added the key
    ended           bigint      NOT NULL,  -- commit position of the revocation; 0: not revoked
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

-- The persons who have signed in. Their details from the issuer are encrypted here, as in the log,
-- so the deletion of the person's key makes the details unreadable everywhere.
CREATE TABLE ?schema.people (
    id       uuid        PRIMARY KEY,
    known_at timestamptz NOT NULL,    -- when the details were recorded
    box      text        NOT NULL,    -- the details, see events.Sealed, in base64; empty: erased
    erased   boolean     NOT NULL,
    ended    bigint      NOT NULL     -- commit position of the erasure; 0: not erased
);
