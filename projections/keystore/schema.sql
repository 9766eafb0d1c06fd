-- The keys of accounts and of people, which encrypt their personal data in the log.
CREATE TABLE IF NOT EXISTS linkledger_keys.account_keys (
    account_id uuid  PRIMARY KEY,       -- of an account or a user
    wrapped    bytea,                   -- by the master key, bound to the account; NULL: erased
    master     text  NOT NULL DEFAULT '' -- name of the master key, see MasterKey
);

-- Random bytes that all processes share.
CREATE TABLE IF NOT EXISTS linkledger_keys.secrets (
    name  text  PRIMARY KEY,
    value bytea NOT NULL
);

-- When each API key was used last, at the latest a minute ago.
CREATE TABLE IF NOT EXISTS linkledger_keys.key_uses (
    account_id uuid        NOT NULL,
    key_id     text        NOT NULL,
    last_used  timestamptz NOT NULL,
    PRIMARY KEY (account_id, key_id)
) WITH (fillfactor = 50);

-- The sessions of browsers. Losing them means to sign in again.
CREATE TABLE IF NOT EXISTS linkledger_keys.sessions (
    hash       bytea       PRIMARY KEY,  -- SHA-256 of the secret that the browser has
    id         uuid        NOT NULL UNIQUE,
    account_id uuid,                     -- NULL: of no account
    key_id     text        NOT NULL,     -- the API key that signed in; empty: a person did
    user_id    uuid,                     -- the person who signed in; NULL: a key did
    member_at  bigint      NOT NULL,     -- commit position of the person's role in the account
    operator   boolean     NOT NULL,
    address    text        NOT NULL,     -- keyed hash of the address that signed in
    agent      text        NOT NULL,     -- browser and system
    created_at timestamptz NOT NULL,
    used_at    timestamptz NOT NULL,     -- at most a minute before the last use
    issuer_sid bytea,                    -- keyed hash of the session at the issuer; NULL: unknown
    id_token   bytea                     -- of the issuer, encrypted under the secret of the session
);

-- A database of before has the table without the last columns. To add them locks the table.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute
            WHERE attrelid = 'linkledger_keys.sessions'::regclass AND attname = 'id_token') THEN
        ALTER TABLE linkledger_keys.sessions
            ADD COLUMN IF NOT EXISTS issuer_sid bytea, ADD COLUMN IF NOT EXISTS id_token bytea;
    END IF;
END $$;

CREATE INDEX IF NOT EXISTS sessions_account ON linkledger_keys.sessions (account_id);
CREATE INDEX IF NOT EXISTS sessions_user ON linkledger_keys.sessions (user_id);
CREATE INDEX IF NOT EXISTS sessions_created_at ON linkledger_keys.sessions (created_at);
CREATE INDEX IF NOT EXISTS sessions_used_at ON linkledger_keys.sessions (used_at);
CREATE INDEX IF NOT EXISTS sessions_issuer_sid ON linkledger_keys.sessions (issuer_sid)
    WHERE issuer_sid IS NOT NULL;

-- The sign-outs that the issuer has sent, each of which counts once.
CREATE TABLE IF NOT EXISTS linkledger_keys.issuer_sign_outs (
    hash       bytea       PRIMARY KEY,  -- keyed hash of the id of its token
    expires_at timestamptz NOT NULL      -- from then on the token counts no more
);

-- One-time links that operators make, each of which signs a browser in once.
CREATE TABLE IF NOT EXISTS linkledger_keys.sign_in_links (
    hash       bytea       PRIMARY KEY,  -- SHA-256 of the secret in the link
    account_id uuid,                     -- NULL: of no account
    key_id     text        NOT NULL,     -- the API key that the session is for; empty: none
    operator   boolean     NOT NULL,
    expires_at timestamptz NOT NULL
);

-- The answers of the forms of the consoles, for about an hour: a form that is sent twice is done
-- once, and what was typed is shown again after a refusal. No copy and no backup has them.
CREATE TABLE IF NOT EXISTS linkledger_keys.answers (
    hash       bytea       PRIMARY KEY,            -- SHA-256 of the name that the browser has
    owner      bytea       NOT NULL,               -- SHA-256 of who sent the form
    sealed     bytea,                              -- encrypted under the name; NULL: in the making
    open       boolean     NOT NULL DEFAULT false, -- nothing was done: it can be tried again
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX IF NOT EXISTS answers_owner ON linkledger_keys.answers (owner, created_at);
CREATE INDEX IF NOT EXISTS answers_expires_at ON linkledger_keys.answers (expires_at);

-- Events that an operator has given up, so that no projection of that name applies them again. An
-- event is named by its place, which a copy of the log keeps.
CREATE TABLE IF NOT EXISTS linkledger_keys.discarded_events (
    projection   text        NOT NULL,
    stream       text        NOT NULL,
    revision     bigint      NOT NULL,
    type         text        NOT NULL,
    discarded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (projection, stream, revision)
);

-- Words by which operators have had the clicks of the log judged anew. linkledger.generations says
-- which of them a generation counts by.
CREATE TABLE IF NOT EXISTS linkledger_keys.judgements (
    number bigint      PRIMARY KEY,  -- from 1
    words  text        NOT NULL,     -- all of them, as robots.Table.Text writes them
    until  timestamptz NOT NULL      -- clicks of that time and later keep their verdicts
);

-- Which adoption this database has: see the package adoption. A copy of the database keeps what it
-- had, and so differs from the one that serves once that one is adopted again.
CREATE TABLE IF NOT EXISTS linkledger_keys.adoption (
    single   boolean PRIMARY KEY DEFAULT true CHECK (single),
    token    text    NOT NULL,
    former   text    NOT NULL,  -- token that the log had before; empty: none
    timeline bigint  NOT NULL   -- of the cluster when the token was made
);
