-- What a search looks at is kept as bytes: PostgreSQL finds a short text in two thirds of the time there. Indexes are of the text.
-- PL/pgSQL, because a function in SQL would be planned anew by each statement that writes a row.
CREATE OR REPLACE FUNCTION linkledger.utf8(bytes bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$BEGIN RETURN convert_from(bytes, 'UTF8'); END$$;

-- array_agg takes part in parallel queries from PostgreSQL 16 on only.
CREATE OR REPLACE AGGREGATE linkledger.parallel_array_agg(integer) (
    SFUNC = array_append, STYPE = integer[], COMBINEFUNC = array_cat, PARALLEL = SAFE);
