-- Names of files are relative to the data directory. What is absolute lies outside it, or comes from
-- elsewhere. Where the data directory is, pg_read_all_settings may know.
CREATE FUNCTION sys.format_path(in_path text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN coalesce(
		'@@tablespace ' || (
			SELECT t.spcname FROM pg_tablespace AS t
			WHERE t.oid::text = substring(in_path FROM '^pg_tblspc/(\d+)/'))
			|| '/' || substring(in_path FROM '^pg_tblspc/\d+/(?:PG_[^/]+/)?(.*)'),
		CASE WHEN in_path LIKE '/%' AND pg_has_role('pg_read_all_settings', 'USAGE') THEN (
			SELECT '@@' || s.name || substr(in_path, length(s.value) + 1)
			FROM (VALUES (1, 'data_directory'), (2, 'log_directory')) AS v (number, name)
			CROSS JOIN LATERAL (SELECT v.name, rtrim(current_setting(v.name), '/')) AS s (name, value)
			WHERE s.value LIKE '/%' AND starts_with(in_path, s.value || '/')
			ORDER BY v.number
			LIMIT 1) END,
		in_path);
COMMENT ON FUNCTION sys.format_path(text) IS
	'A path for people: the data directory as @@data_directory, a tablespace by its name';
