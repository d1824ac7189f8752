-- Picoseconds for people: two digits after the point, in the largest unit that gives at least 1.
CREATE FUNCTION sys.format_time(picoseconds numeric) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN CASE
		WHEN picoseconds >= 604800e12 THEN round(picoseconds / 604800e12, 2) || ' w'
		WHEN picoseconds >= 86400e12 THEN round(picoseconds / 86400e12, 2) || ' d'
		WHEN picoseconds >= 3600e12 THEN round(picoseconds / 3600e12, 2) || ' h'
		WHEN picoseconds >= 60e12 THEN round(picoseconds / 60e12, 2) || ' m'
		WHEN picoseconds >= 1e12 THEN round(picoseconds / 1e12, 2) || ' s'
		WHEN picoseconds >= 1e9 THEN round(picoseconds / 1e9, 2) || ' ms'
		WHEN picoseconds >= 1e6 THEN round(picoseconds / 1e6, 2) || ' us'
		WHEN picoseconds >= 1e3 THEN round(picoseconds / 1e3, 2) || ' ns'
		ELSE picoseconds || ' ps'
	END;
COMMENT ON FUNCTION sys.format_time(numeric) IS
	'Picoseconds with a unit: ps, ns, us, ms, s, m, h, d, w';
