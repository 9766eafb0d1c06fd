-- The keys of accounts and of people, which encrypt their personal data in the log. The encryption
-- of a key by the master key is bound to account_id.
CREATE TABLE IF NOT EXISTS linkledger_durable.account_keys (
    account_id uuid  PRIMARY KEY,       -- id of the account or of the person
    wrapped    bytea,                   -- the key, encrypted by the master key; NULL: erased
    master     text  NOT NULL DEFAULT '' -- name of that master key, see MasterKey
);

-- Random bytes that all processes share.
CREATE TABLE IF NOT EXISTS linkledger_durable.secrets (
    name  text  PRIMARY KEY,
    value bytea NOT NULL
);

-- When each API key was used last. The stored time is at most a minute behind.
CREATE TABLE IF NOT EXISTS linkledger_durable.key_uses (
    account_id uuid        NOT NULL,
    key_id     text        NOT NULL,
    last_used  timestamptz NOT NULL,
    PRIMARY KEY (account_id, key_id)
) WITH (fillfactor = 50);

-- The sessions of browsers. If rows are lost, the people have to sign in again.
CREATE TABLE IF NOT EXISTS linkledger_durable.sessions (
    hash       bytea       PRIMARY KEY,  -- SHA-256 of the secret that the browser has
    id         uuid        NOT NULL UNIQUE,
    account_id uuid,                     -- NULL: of no account
    key_id     text        NOT NULL,     -- the API key that signed in; empty: no key did
    user_id    uuid,                     -- the person who signed in; NULL: no person did
    member_at  bigint      NOT NULL,     -- commit position of the person's role in the account
    operator   boolean     NOT NULL,     -- the session is one of an operator
    address    text        NOT NULL,     -- keyed hash of the address that signed in
    agent      text        NOT NULL,     -- names of the browser and its system
    created_at timestamptz NOT NULL,
    used_at    timestamptz NOT NULL,     -- at most a minute before the last use
    issuer_sid bytea,                    -- keyed hash of the session at the issuer; NULL: unknown
    id_token   bytea                     -- of the issuer, encrypted under the session's secret
);

-- Databases of earlier versions lack issuer_sid and id_token. ALTER TABLE locks the table, so it
-- runs only where a column is missing.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute
            WHERE attrelid = 'linkledger_durable.sessions'::regclass AND attname = 'id_token') THEN
        ALTER TABLE linkledger_durable.sessions
            ADD COLUMN IF NOT EXISTS issuer_sid bytea, ADD COLUMN IF NOT EXISTS id_token bytea;
    END IF;
END $$;

-- CREATE INDEX locks its table even if the index exists, and other nodes may be writing to the table.
-- So the statements run only where an index is missing.
DO $$ BEGIN
    IF to_regclass('linkledger_durable.sessions_issuer_sid') IS NULL THEN
        CREATE INDEX IF NOT EXISTS sessions_account ON linkledger_durable.sessions (account_id);
        CREATE INDEX IF NOT EXISTS sessions_user ON linkledger_durable.sessions (user_id);
        CREATE INDEX IF NOT EXISTS sessions_created_at
            ON linkledger_durable.sessions (created_at);
        CREATE INDEX IF NOT EXISTS sessions_used_at ON linkledger_durable.sessions (used_at);
        CREATE INDEX IF NOT EXISTS sessions_issuer_sid ON linkledger_durable.sessions (issuer_sid)
            WHERE issuer_sid IS NOT NULL;
    END IF;
END $$;

-- The sign-out tokens that the issuer has sent. The row makes each token count only once.
CREATE TABLE IF NOT EXISTS linkledger_durable.issuer_sign_outs (
    hash       bytea       PRIMARY KEY,  -- keyed hash of the token's id (jti)
    expires_at timestamptz NOT NULL      -- the token is refused from then on
);

-- One-time links that operators make. Each link signs one browser in, once.
CREATE TABLE IF NOT EXISTS linkledger_durable.sign_in_links (
    hash       bytea       PRIMARY KEY,  -- SHA-256 of the secret in the link
    account_id uuid,                     -- NULL: of no account
    key_id     text        NOT NULL,     -- the API key that the session has; empty: none
    operator   boolean     NOT NULL,     -- the session is one of an operator
    expires_at timestamptz NOT NULL
);

-- The answers to forms of the consoles, kept for about an hour. With them, a form that is sent
-- twice is carried out once, and typed text is shown again after a refusal. Copies of the keys and
-- backups leave this table out.
CREATE TABLE IF NOT EXISTS linkledger_durable.answers (
    hash       bytea       PRIMARY KEY,            -- SHA-256 of the form's name in the browser
    owner      bytea       NOT NULL,               -- SHA-256 of who sent the form
    sealed     bytea,                              -- answer, encrypted by the name; NULL: pending
    open       boolean     NOT NULL DEFAULT false, -- nothing was done: the form can be sent again
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

DO $$ BEGIN
    IF to_regclass('linkledger_durable.answers_expires_at') IS NULL THEN
        CREATE INDEX IF NOT EXISTS answers_owner
            ON linkledger_durable.answers (owner, created_at);
        CREATE INDEX IF NOT EXISTS answers_expires_at ON linkledger_durable.answers (expires_at);
    END IF;
END $$;

-- Events that an operator has discarded. No generation of the projection applies them again, except
-- as far as they end rights. Stream and revision identify an event, because a copy of the log keeps
-- both.
CREATE TABLE IF NOT EXISTS linkledger_durable.discarded_events (
    projection   text        NOT NULL,
    stream       text        NOT NULL,
    revision     bigint      NOT NULL,
    type         text        NOT NULL,
    discarded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (projection, stream, revision)
);

-- Words that tell robots from people. Each row is one order of an operator to judge the clicks of
-- the log anew by other words. linkledger.generations says which row a generation counts clicks by.
CREATE TABLE IF NOT EXISTS linkledger_durable.judgements (
    number bigint      PRIMARY KEY,  -- from 1
    words  text        NOT NULL,     -- all words, as robots.Table.Text writes them
    until  timestamptz NOT NULL      -- clicks at that time and later keep their recorded verdicts
);

-- The token of the adoption of this database. An event of the log has the token of the database
-- that may serve, see the package adoption. When that database is adopted again, it gets a new
-- token. A copy from before keeps the old token, so it is recognized and refused.
CREATE TABLE IF NOT EXISTS linkledger_durable.adoption (
    single   boolean PRIMARY KEY DEFAULT true CHECK (single),
    token    text    NOT NULL,
    former   text    NOT NULL,  -- token that the log had before this one; empty: none
    timeline bigint  NOT NULL   -- timeline of the PostgreSQL cluster when the token was made
);

-- Effects, such as deliveries to webhooks: what follows from events and happens once. Each effect
-- follows the log from its checkpoint. A projection may be built anew, and an effect never is. The
-- columns of effects have the meaning that they have in linkledger.generations.
--
-- The statements run only where the tables are missing, because other nodes may be delivering.
DO $$ BEGIN
IF to_regclass('linkledger_durable.effects') IS NULL THEN

CREATE TABLE linkledger_durable.effects (
    name            text        PRIMARY KEY,
    commit_pos      bigint      NOT NULL,
    prepare_pos     bigint      NOT NULL,
    witness_commit  bigint      NOT NULL DEFAULT 0,
    witness_prepare bigint      NOT NULL DEFAULT 0,
    witness_id      uuid,
    epoch           bigint      NOT NULL DEFAULT 0,
    owner           text        NOT NULL DEFAULT '',
    lease_until     timestamptz NOT NULL DEFAULT 'epoch',
    last_error      text        NOT NULL DEFAULT '',
    skipped         bigint      NOT NULL DEFAULT 0,  -- messages that were too old after a restore
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Where the messages of an effect go, such as the webhooks.
CREATE TABLE linkledger_durable.receivers (
    effect        text        NOT NULL,
    id            uuid        NOT NULL,
    account_id    uuid        NOT NULL,
    config        jsonb       NOT NULL,            -- belongs to the effect; its secrets are sealed
    open          boolean     NOT NULL,            -- false: it gets nothing
    failures      int         NOT NULL DEFAULT 0,  -- attempts that failed since the last success
    failing_since timestamptz,                     -- time of the first of them
    retry_at      timestamptz NOT NULL DEFAULT '-infinity', -- no attempt is made before
    PRIMARY KEY (effect, id)
);

-- The messages of an effect, in the order of the log. They are kept for some days after they were
-- delivered.
CREATE TABLE linkledger_durable.outbox (
    number     bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    effect     text        NOT NULL,
    receiver   uuid        NOT NULL,
    subject    text        NOT NULL,            -- messages about one subject are delivered in order
    id         uuid        NOT NULL,            -- the same for each attempt; made from the event
    commit_pos bigint      NOT NULL,            -- of the event
    event_at   timestamptz NOT NULL,
    kind       text        NOT NULL,
    body       bytea       NOT NULL,
    state      text        NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts   int         NOT NULL DEFAULT 0,
    first_try  timestamptz,
    last_try   timestamptz,
    status     int         NOT NULL DEFAULT 0,  -- of the last answer; 0: none
    answer     text        NOT NULL DEFAULT '', -- its beginning, or why there was none
    UNIQUE (effect, receiver, id)
);

CREATE INDEX outbox_waiting
    ON linkledger_durable.outbox (effect, receiver, subject, number) WHERE state = 'waiting';
CREATE INDEX outbox_receiver ON linkledger_durable.outbox (effect, receiver, number);
CREATE INDEX outbox_ended ON linkledger_durable.outbox (last_try)
    WHERE state <> 'waiting';

-- A queue is the waiting messages of one receiver about one subject. Its row exists while messages
-- wait.
CREATE TABLE linkledger_durable.queues (
    effect        text        NOT NULL,
    receiver      uuid        NOT NULL,
    subject       text        NOT NULL,
    due_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures      int         NOT NULL DEFAULT 0,  -- of its first message
    claim         uuid,                            -- of the worker that delivers; NULL: none
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (effect, receiver, subject)
) WITH (fillfactor = 70);

CREATE INDEX queues_due ON linkledger_durable.queues (effect, receiver, due_at);

END IF;
END $$;
