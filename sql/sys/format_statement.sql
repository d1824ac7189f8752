-- A statement on one line. One longer than 64 characters keeps its beginning and its end; sys_config
-- has another length for all, SET sys.statement_truncate_len = 128 for the session.
CREATE FUNCTION sys.format_statement(statement text) RETURNS text
	LANGUAGE C STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_format_statement';
COMMENT ON FUNCTION sys.format_statement(text) IS
	'A statement on one line; its middle is cut out beyond sys.statement_truncate_len (64)';
