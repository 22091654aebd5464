-- The trigger that keeps near-duplicates out.

CREATE FUNCTION near_dup_guard() RETURNS trigger
    AS 'MODULE_PATHNAME', 'near_dup_guard_wrapper' LANGUAGE c;
COMMENT ON FUNCTION near_dup_guard() IS
    'trigger: rejects, skips, flags or logs rows that are near-duplicates; arguments: the fingerprint column, then ''distance=3'', ''action=reject'', ...';

-- What hides the fingerprints that guards publish. A materialized view: not dumped, so that each restore makes another, and
-- not published with all tables, so that no subscriber gets it or tries to store a second one. No role may read it, whatever
-- privileges it has by default.
CREATE MATERIALIZED VIEW _dedup_secret AS SELECT pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat(
    pg_catalog.gen_random_uuid(), pg_catalog.gen_random_uuid(), pg_catalog.gen_random_uuid()), 'UTF8')) AS secret;
COMMENT ON MATERIALIZED VIEW _dedup_secret IS
    'one row: what makes the keys that hide fingerprints in pg_locks; near_dup_guard alone reads it; without it guards that skip or flag fail';
DO $body$
DECLARE
    reader pg_catalog.text;
BEGIN
    FOR reader IN SELECT DISTINCT CASE WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END
        FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
        WHERE c.oid OPERATOR(pg_catalog.=) '_dedup_secret'::pg_catalog.regclass::pg_catalog.oid
            AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON _dedup_secret FROM %s', reader);
    END LOOP;
END $body$;
