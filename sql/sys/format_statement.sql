-- A statement on one line. One longer than 64 characters keeps its beginning and its end;
-- SET sys.statement_truncate_len = 128 makes that longer, as in MySQL.
CREATE FUNCTION sys.format_statement(statement text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (
		SELECT translate(
			CASE
				WHEN length(statement) > l.max THEN
					left(statement, l.max / 2 - 2) || ' ... ' || right(statement, l.max / 2 - 2)
				ELSE statement
			END, E'\n\r', '  ')
		FROM (SELECT greatest(
			coalesce(nullif(current_setting('sys.statement_truncate_len', true), '')::integer, 64),
			6)) AS l (max));
COMMENT ON FUNCTION sys.format_statement(text) IS
	'A statement on one line; its middle is cut out beyond sys.statement_truncate_len (64)';
