CREATE FUNCTION sys.version_patch() RETURNS integer
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN 0;
COMMENT ON FUNCTION sys.version_patch() IS
	'Always 0: PostgreSQL''s versions have two parts';
