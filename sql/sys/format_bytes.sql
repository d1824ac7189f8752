-- Bytes for people: two digits after the point, in the largest unit that gives at least 1.
CREATE FUNCTION sys.format_bytes(bytes numeric) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN CASE
		WHEN bytes >= 1125899906842624 THEN round(bytes / 1125899906842624, 2) || ' PiB'
		WHEN bytes >= 1099511627776 THEN round(bytes / 1099511627776, 2) || ' TiB'
		WHEN bytes >= 1073741824 THEN round(bytes / 1073741824, 2) || ' GiB'
		WHEN bytes >= 1048576 THEN round(bytes / 1048576, 2) || ' MiB'
		WHEN bytes >= 1024 THEN round(bytes / 1024, 2) || ' KiB'
		ELSE round(bytes) || ' bytes'
	END;
COMMENT ON FUNCTION sys.format_bytes(numeric) IS
	'Bytes with a unit: bytes, KiB, MiB, GiB, TiB, PiB';
