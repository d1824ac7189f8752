-- Columns of identity, and those that a sequence belongs to (serial), of sequences that go up.
--@ plain How much of its sequence each numbered column of this database has used, most first
--@ table_schema Schema
--@ table_name Table
--@ column_name Column
--@ data_type Type of the column
--@ column_type The same, with its modifier
--@ is_signed Always 1: all integers are signed
--@ is_unsigned Always 0
--@ max_value Largest number that both the column and its sequence can have
--@ auto_increment Next number; NULL if one may not read the sequence
--@ auto_increment_ratio Part of the numbers that is used: 1 = none is left
SELECT
	n.nspname::text AS table_schema,
	c.relname::text AS table_name,
	a.attname::text AS column_name,
	format_type(a.atttypid, NULL) AS data_type,
	format_type(a.atttypid, a.atttypmod) AS column_type,
	1 AS is_signed,
	0 AS is_unsigned,
	u.max_value,
	u.next AS auto_increment,
	round(u.next / u.max_value, 4) AS auto_increment_ratio
FROM pg_depend AS d
JOIN pg_class AS q ON q.oid = d.objid AND q.relkind = 'S'
JOIN pg_namespace AS qn ON qn.oid = q.relnamespace
JOIN pg_sequences AS s ON s.schemaname = qn.nspname AND s.sequencename = q.relname
JOIN pg_class AS c ON c.oid = d.refobjid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
CROSS JOIN LATERAL (SELECT
	least(s.max_value, CASE a.atttypid WHEN 'smallint'::regtype THEN 32767
		WHEN 'integer'::regtype THEN 2147483647 ELSE s.max_value END)::numeric,
	CASE WHEN has_sequence_privilege(q.oid, 'SELECT, USAGE')
		THEN coalesce(s.last_value::numeric + s.increment_by, s.start_value) END) AS u (max_value, next)
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0
	AND d.deptype IN ('a', 'i') AND s.increment_by > 0
ORDER BY auto_increment_ratio DESC NULLS LAST, table_schema, table_name, column_name
