-- Versions before 0.2 kept these tables in the schema linkledger, where a backup of such a version
-- restores them too. Views remain there for a process of such a version that still runs.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_class
        WHERE relnamespace = to_regnamespace('linkledger') AND relkind = 'r'
            AND relname IN ('account_keys', 'secrets')
    LOOP
        CREATE SCHEMA IF NOT EXISTS linkledger_keys;
        EXECUTE format('ALTER TABLE linkledger.%I SET SCHEMA linkledger_keys', name);
        EXECUTE format('CREATE VIEW linkledger.%1$I AS SELECT * FROM linkledger_keys.%1$I', name);
    END LOOP;
END $$;
