-- Bytes for people: two digits after the point, in the largest unit that gives at least 1.
CREATE FUNCTION sys.format_bytes(bytes numeric) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_format_bytes';
COMMENT ON FUNCTION sys.format_bytes(numeric) IS
	'Bytes with a unit: bytes, KiB, MiB, GiB, TiB, PiB';
