-- Texts are found in whatever case. `lower` alone knows only ASCII's capitals in a database of the
-- locale C, and takes no two lower-case forms of one letter for the same. This script is ASCII itself,
-- since a database may have another encoding.
DO $do$
BEGIN
    IF getdatabaseencoding() = 'UTF8'
        AND EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')
    THEN
        CREATE FUNCTION crew_casefold(given text) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
        AS $$
            -- the final sigma and the long s; the sharp s
            SELECT replace(
                translate(lower(given COLLATE "und-x-icu"), U&'\03C2\017F', U&'\03C3s'),
                U&'\00DF', 'ss'
            )
        $$;
    ELSE
        -- a server that was built without ICU
        CREATE FUNCTION crew_casefold(given text) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
        AS $$
            SELECT lower(given)
        $$;
    END IF;
END
$do$;
