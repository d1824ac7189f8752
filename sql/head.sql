\echo Use "CREATE EXTENSION performance_schema" to load this file. \quit

-- Both schemas belong to the extension: dropping it drops them. A schema of one of these names
-- that exists already makes CREATE EXTENSION fail: rename or drop it first.
CREATE SCHEMA performance_schema;
COMMENT ON SCHEMA performance_schema IS
	'MySQL''s Performance Schema: what the server does, and what of it is observed';
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
