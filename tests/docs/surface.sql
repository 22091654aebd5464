-- Every function that an extension offers, with its arguments as docs/reference.md writes them. Left out are steps of others
-- (their names begin with _) and what only the server calls: transitions, in- and output, estimates.
SELECT e.extname, format('%s(%s)', p.proname, coalesce(string_agg(
           concat_ws(' ', quote_ident(nullif(p.proargnames[a.i], '')), replace(format_type(a.type, NULL), 'double precision', 'float8'),
                     'DEFAULT ' || regexp_replace(pg_get_function_arg_default(p.oid, a.n::int), '::[a-z]+(\[\])?$', '')), ', ' ORDER BY a.i), ''))
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname ~ '^pg_dedup'
LEFT JOIN LATERAL (
    SELECT i, type, row_number() OVER (ORDER BY i) AS n
    FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS u (type, i)
    WHERE coalesce(p.proargmodes[i], 'i') IN ('i', 'b', 'v')) AS a ON true
WHERE p.proname !~ '^_|_(in|out|recv|send)$' AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
GROUP BY e.extname, p.oid, p.proname ORDER BY 1, 2;
