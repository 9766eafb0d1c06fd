-- The trigrams of pg_trgm find substrings. The extension comes with PostgreSQL, and the owner of
-- the database may create it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
