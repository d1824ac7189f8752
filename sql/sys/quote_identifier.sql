-- Always with quotes; quote_ident writes them where they are needed.
CREATE FUNCTION sys.quote_identifier(in_identifier text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN '"' || replace(in_identifier, '"', '""') || '"';
COMMENT ON FUNCTION sys.quote_identifier(text) IS
	'A name in double quotes';
