-- Search texts are stored as bytes, because PostgreSQL finds a short text there in two thirds of
-- the time. The indexes are on the text. The function is in PL/pgSQL, because each statement that
-- writes a row would plan an SQL function again.
CREATE OR REPLACE FUNCTION linkledger.utf8(bytes bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$BEGIN RETURN convert_from(bytes, 'UTF8'); END$$;

-- array_agg supports parallel queries only from PostgreSQL 16 on.
CREATE OR REPLACE AGGREGATE linkledger.parallel_array_agg(integer) (
    SFUNC = array_append, STYPE = integer[], COMBINEFUNC = array_cat, PARALLEL = SAFE);
