-- Groups of rows in the order in which they come.

CREATE FUNCTION single_pass(fp bigint, distance integer) RETURNS bigint
    AS 'MODULE_PATHNAME', 'single_pass_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 1000;
COMMENT ON FUNCTION single_pass(bigint, integer) IS
    'window function: row number of the nearest earlier center within distance, or of the row itself';

CREATE FUNCTION near_dup_component(fp bigint, distance integer, diameter integer DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'near_dup_component_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 1000;
COMMENT ON FUNCTION near_dup_component(bigint, integer, integer) IS
    'window function: row number of the first row that a chain of near rows connects with this one; with a diameter, no component is wider';
