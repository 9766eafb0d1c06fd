-- Programs before version 0.2 keep the list of migrations in the table migrations, which they read
-- when they start. The view of that name refuses them.
DROP TABLE IF EXISTS linkledger.migrations, linkledger.migration_locks;

CREATE FUNCTION linkledger.refuse_older_program()
    RETURNS TABLE (id bigint, name text, group_id bigint, migrated_at timestamptz)
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'this database belongs to Linkledger %, and this program is older: start that '
        'version or a later one', coalesce((SELECT m.program FROM linkledger.applied_migrations AS m
            WHERE m.program <> '' ORDER BY m.applied_at DESC, m.name DESC LIMIT 1), 'v0.2 or later');
END $$;

CREATE VIEW linkledger.migrations AS SELECT * FROM linkledger.refuse_older_program();
