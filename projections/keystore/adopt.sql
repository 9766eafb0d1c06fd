-- The tables had other schemas before: linkledger in versions before 0.2, and linkledger_keys until
-- the schema got tables that are no keys. A backup of such a version restores them there. Views
-- remain under the former names for a process of such a version that still runs.
DO $$
DECLARE
    former record;
BEGIN
    FOR former IN
        SELECT relnamespace::regnamespace AS schema, relname AS name FROM pg_class
        WHERE relkind = 'r' AND (
            relnamespace = to_regnamespace('linkledger') AND relname IN ('account_keys', 'secrets')
            OR relnamespace = to_regnamespace('linkledger_keys'))
    LOOP
        CREATE SCHEMA IF NOT EXISTS linkledger_durable;
        EXECUTE format('ALTER TABLE %s.%I SET SCHEMA linkledger_durable', former.schema,
            former.name);
        EXECUTE format('CREATE VIEW %s.%2$I AS SELECT * FROM linkledger_durable.%2$I',
            former.schema, former.name);
    END LOOP;
END $$;
