-- Substrings are found by their trigrams. The extension comes with PostgreSQL and may be created by the database's owner.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
