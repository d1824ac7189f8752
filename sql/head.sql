\echo Use "CREATE EXTENSION performance_schema" to load this file. \quit

-- Whatever a database owner has put into public or elsewhere: no name below means it. CREATE
-- EXTENSION puts the path back at the end.
SET LOCAL search_path TO pg_catalog, pg_temp;

-- The schema performance_schema holds the extension: CREATE EXTENSION has made it, or found it (a
-- restored dump makes it first, DROP EXTENSION leaves it). One found must be empty, and only
-- superusers may create in it: else its owner could put something of his in the place of ours.
DO LANGUAGE plpgsql $$
DECLARE
	ours record;
BEGIN
	SELECT n.oid, n.nspacl, o.rolname, o.rolsuper INTO STRICT ours
	FROM pg_namespace AS n JOIN pg_roles AS o ON o.oid = n.nspowner
	WHERE n.nspname = 'performance_schema';
	IF NOT ours.rolsuper THEN
		RAISE 'schema "performance_schema" belongs to "%", who is no superuser', ours.rolname
			USING ERRCODE = 'insufficient_privilege', HINT = 'Drop it or rename it first.';
	END IF;
	IF EXISTS (
		SELECT FROM aclexplode(ours.nspacl) AS a LEFT JOIN pg_roles AS o ON o.oid = a.grantee
		WHERE a.privilege_type = 'CREATE' AND NOT coalesce(o.rolsuper, false)) THEN
		RAISE 'others may create objects in schema "performance_schema"'
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'Revoke CREATE on it, or drop it or rename it first.';
	END IF;
	IF EXISTS (
		SELECT FROM pg_depend AS d
		WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = ours.oid
			AND NOT (d.classid = 'pg_extension'::regclass AND EXISTS (
				SELECT FROM pg_extension AS e
				WHERE e.oid = d.objid AND e.extname = 'performance_schema'))) THEN
		RAISE 'schema "performance_schema" is not empty'
			USING ERRCODE = 'duplicate_object', HINT = 'Drop it or rename it first.';
	END IF;
END $$;
COMMENT ON SCHEMA performance_schema IS
	'MySQL''s Performance Schema: what the server does, and what of it is observed';
-- A member of the extension, which drops it. One that exists already is an error.
CREATE SCHEMA sys;
COMMENT ON SCHEMA sys IS 'Reports over performance_schema, in units for people';
GRANT USAGE ON SCHEMA performance_schema, sys TO PUBLIC;

CREATE FUNCTION performance_schema.performance_schema_fdw_handler() RETURNS fdw_handler
	LANGUAGE C STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION performance_schema.performance_schema_fdw_handler() IS
	'Entry point of the foreign-data wrapper';
CREATE FUNCTION performance_schema.performance_schema_fdw_validator(text[], oid) RETURNS void
	LANGUAGE C STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION performance_schema.performance_schema_fdw_validator(text[], oid) IS
	'Checks the option table_name of foreign tables';

CREATE FOREIGN DATA WRAPPER performance_schema
	HANDLER performance_schema.performance_schema_fdw_handler
	VALIDATOR performance_schema.performance_schema_fdw_validator;
COMMENT ON FOREIGN DATA WRAPPER performance_schema IS 'Tables in the shared memory of this server';
CREATE SERVER performance_schema FOREIGN DATA WRAPPER performance_schema;
COMMENT ON SERVER performance_schema IS 'This server';
