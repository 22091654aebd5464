-- The trigger that keeps near-duplicates out.

CREATE FUNCTION near_dup_guard() RETURNS trigger
    AS 'MODULE_PATHNAME', 'near_dup_guard_wrapper' LANGUAGE c;
COMMENT ON FUNCTION near_dup_guard() IS
    'trigger: rejects, skips, flags or logs rows that are near-duplicates; arguments: the fingerprint column, then ''distance=3'', ''action=reject'', …';
