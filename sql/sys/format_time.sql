-- Picoseconds for people: two digits after the point, in the largest unit that gives at least 1.
CREATE FUNCTION sys.format_time(picoseconds numeric) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_format_time';
COMMENT ON FUNCTION sys.format_time(numeric) IS
	'Picoseconds with a unit: ps, ns, us, ms, s, m, h, d, w';
