CREATE FUNCTION sys.format_pico_time(picoseconds numeric) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_format_pico_time';
COMMENT ON FUNCTION sys.format_pico_time(numeric) IS
	'MySQL''s FORMAT_PICO_TIME: picoseconds with a unit: ps, ns, us, ms, s, min, h, d';
