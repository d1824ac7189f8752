-- MySQL's functions of these names. Both take one statement; behind what cannot be scanned nothing counts.
CREATE FUNCTION sys.statement_digest(statement text) RETURNS text
	LANGUAGE C STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_statement_digest';
COMMENT ON FUNCTION sys.statement_digest(text) IS
	'SHA-256 of the normalised statement, as in the column DIGEST';

CREATE FUNCTION sys.statement_digest_text(statement text) RETURNS text
	LANGUAGE C STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_statement_digest_text';
COMMENT ON FUNCTION sys.statement_digest_text(text) IS
	'The normalised statement, as in the column DIGEST_TEXT: cut to max_digest_length bytes';
