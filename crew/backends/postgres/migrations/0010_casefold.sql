-- Letters that are the same whatever their case, as Python's str.casefold has them: also ligatures,
-- the micro sign, and Greek letters with an iota below. 0009 knew three letters only.
DO $do$
BEGIN
    IF getdatabaseencoding() = 'UTF8'
        AND EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')
    THEN
        CREATE OR REPLACE FUNCTION crew_casefold(given text) RETURNS text
        IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql
        AS $$
        DECLARE
            -- the final sigma, the long s and the micro sign; the sharp s
            folded text := replace(
                translate(
                    lower(given COLLATE "und-x-icu"), U&'\03C2\017F\00B5', U&'\03C3s\03BC'
                ),
                U&'\00DF', 'ss'
            );
        BEGIN
            -- one look for all rare letters: `translate` of many takes ten times as long
            IF folded ~ (
                '['
                || U&'\0149\01F0\0345\0390\03B0\03D0\03D1\03D5\03D6\03F0\03F1\03F5'
                '\0587\1C80\1C81\1C82\1C83\1C84\1C85\1C86\1C87\1C88\1E96\1E97'
                '\1E98\1E99\1E9A\1E9B\1F50\1F52\1F54\1F56\1F80\1F81\1F82\1F83'
                '\1F84\1F85\1F86\1F87\1F90\1F91\1F92\1F93\1F94\1F95\1F96\1F97'
                '\1FA0\1FA1\1FA2\1FA3\1FA4\1FA5\1FA6\1FA7\1FB2\1FB3\1FB4\1FB6'
                '\1FB7\1FBE\1FC2\1FC3\1FC4\1FC6\1FC7\1FD2\1FD3\1FD6\1FD7\1FE2'
                '\1FE3\1FE4\1FE6\1FE7\1FF2\1FF3\1FF4\1FF6\1FF7\FB00\FB01\FB02'
                '\FB03\FB04\FB05\FB06\FB13\FB14\FB15\FB16\FB17'
                || ']'
            )
            THEN
                RETURN (
                    SELECT string_agg(coalesce(letters, letter), '' ORDER BY place)
                    FROM unnest(string_to_array(folded, NULL)) WITH ORDINALITY AS each (letter, place)
                    LEFT JOIN (VALUES
                        (U&'\0149', U&'\02BCn'), (U&'\01F0', U&'j\030C'), (U&'\0345', U&'\03B9'),
                        (U&'\0390', U&'\03B9\0308\0301'), (U&'\03B0', U&'\03C5\0308\0301'),
                        (U&'\03D0', U&'\03B2'), (U&'\03D1', U&'\03B8'), (U&'\03D5', U&'\03C6'),
                        (U&'\03D6', U&'\03C0'), (U&'\03F0', U&'\03BA'), (U&'\03F1', U&'\03C1'),
                        (U&'\03F5', U&'\03B5'), (U&'\0587', U&'\0565\0582'), (U&'\1C80', U&'\0432'),
                        (U&'\1C81', U&'\0434'), (U&'\1C82', U&'\043E'), (U&'\1C83', U&'\0441'),
                        (U&'\1C84', U&'\0442'), (U&'\1C85', U&'\0442'), (U&'\1C86', U&'\044A'),
                        (U&'\1C87', U&'\0463'), (U&'\1C88', U&'\A64B'), (U&'\1E96', U&'h\0331'),
                        (U&'\1E97', U&'t\0308'), (U&'\1E98', U&'w\030A'), (U&'\1E99', U&'y\030A'),
                        (U&'\1E9A', U&'a\02BE'), (U&'\1E9B', U&'\1E61'), (U&'\1F50', U&'\03C5\0313'),
                        (U&'\1F52', U&'\03C5\0313\0300'), (U&'\1F54', U&'\03C5\0313\0301'),
                        (U&'\1F56', U&'\03C5\0313\0342'), (U&'\1F80', U&'\1F00\03B9'),
                        (U&'\1F81', U&'\1F01\03B9'), (U&'\1F82', U&'\1F02\03B9'),
                        (U&'\1F83', U&'\1F03\03B9'), (U&'\1F84', U&'\1F04\03B9'),
                        (U&'\1F85', U&'\1F05\03B9'), (U&'\1F86', U&'\1F06\03B9'),
                        (U&'\1F87', U&'\1F07\03B9'), (U&'\1F90', U&'\1F20\03B9'),
                        (U&'\1F91', U&'\1F21\03B9'), (U&'\1F92', U&'\1F22\03B9'),
                        (U&'\1F93', U&'\1F23\03B9'), (U&'\1F94', U&'\1F24\03B9'),
                        (U&'\1F95', U&'\1F25\03B9'), (U&'\1F96', U&'\1F26\03B9'),
                        (U&'\1F97', U&'\1F27\03B9'), (U&'\1FA0', U&'\1F60\03B9'),
                        (U&'\1FA1', U&'\1F61\03B9'), (U&'\1FA2', U&'\1F62\03B9'),
                        (U&'\1FA3', U&'\1F63\03B9'), (U&'\1FA4', U&'\1F64\03B9'),
                        (U&'\1FA5', U&'\1F65\03B9'), (U&'\1FA6', U&'\1F66\03B9'),
                        (U&'\1FA7', U&'\1F67\03B9'), (U&'\1FB2', U&'\1F70\03B9'),
                        (U&'\1FB3', U&'\03B1\03B9'), (U&'\1FB4', U&'\03AC\03B9'),
                        (U&'\1FB6', U&'\03B1\0342'), (U&'\1FB7', U&'\03B1\0342\03B9'),
                        (U&'\1FBE', U&'\03B9'), (U&'\1FC2', U&'\1F74\03B9'),
                        (U&'\1FC3', U&'\03B7\03B9'), (U&'\1FC4', U&'\03AE\03B9'),
                        (U&'\1FC6', U&'\03B7\0342'), (U&'\1FC7', U&'\03B7\0342\03B9'),
                        (U&'\1FD2', U&'\03B9\0308\0300'), (U&'\1FD3', U&'\03B9\0308\0301'),
                        (U&'\1FD6', U&'\03B9\0342'), (U&'\1FD7', U&'\03B9\0308\0342'),
                        (U&'\1FE2', U&'\03C5\0308\0300'), (U&'\1FE3', U&'\03C5\0308\0301'),
                        (U&'\1FE4', U&'\03C1\0313'), (U&'\1FE6', U&'\03C5\0342'),
                        (U&'\1FE7', U&'\03C5\0308\0342'), (U&'\1FF2', U&'\1F7C\03B9'),
                        (U&'\1FF3', U&'\03C9\03B9'), (U&'\1FF4', U&'\03CE\03B9'),
                        (U&'\1FF6', U&'\03C9\0342'), (U&'\1FF7', U&'\03C9\0342\03B9'),
                        (U&'\FB00', U&'ff'), (U&'\FB01', U&'fi'), (U&'\FB02', U&'fl'),
                        (U&'\FB03', U&'ffi'), (U&'\FB04', U&'ffl'), (U&'\FB05', U&'st'),
                        (U&'\FB06', U&'st'), (U&'\FB13', U&'\0574\0576'), (U&'\FB14', U&'\0574\0565'),
                        (U&'\FB15', U&'\0574\056B'), (U&'\FB16', U&'\057E\0576'),
                        (U&'\FB17', U&'\0574\056D')
                    ) AS rare (letter, letters) USING (letter)
                );
            END IF;
            RETURN folded;
        END
        $$;
    END IF;
END
$do$;
