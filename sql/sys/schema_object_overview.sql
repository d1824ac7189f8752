--@ plain Objects of this database, by schema and kind
--@ db Schema
--@ object_type Kind
--@ count How many
SELECT o.db, o.object_type, count(*) AS count
FROM (
	SELECT c.relnamespace AS namespace, CASE c.relkind
		WHEN 'r' THEN 'BASE TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW'
		WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' WHEN 'f' THEN 'FOREIGN TABLE'
		WHEN 'c' THEN 'TYPE'
		ELSE 'INDEX (' || upper(a.amname) || ')' END AS object_type
	FROM pg_class AS c
	LEFT JOIN pg_am AS a ON a.oid = c.relam
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c', 'i', 'I')
	UNION ALL
	SELECT p.pronamespace, CASE p.prokind WHEN 'p' THEN 'PROCEDURE' WHEN 'a' THEN 'AGGREGATE'
		WHEN 'w' THEN 'WINDOW FUNCTION' ELSE 'FUNCTION' END
	FROM pg_proc AS p
	UNION ALL
	SELECT c.relnamespace, 'TRIGGER'
	FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
	WHERE NOT t.tgisinternal) AS n
JOIN pg_namespace AS s ON s.oid = n.namespace
CROSS JOIN LATERAL (SELECT s.nspname::text, n.object_type) AS o (db, object_type)
GROUP BY o.db, o.object_type
ORDER BY o.db, o.object_type
