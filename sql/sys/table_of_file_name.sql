-- Which table a file belongs to: the file's number is looked up in the catalogue of this database.
-- Nothing is found of other databases, of temporary tables, and of what is gone. Not in MySQL.
CREATE FUNCTION sys.table_of_file_name(path text) RETURNS oid
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (
		SELECT CASE c.relkind
			WHEN 't' THEN (SELECT o.oid FROM pg_class AS o WHERE o.reltoastrelid = c.oid)
			ELSE c.oid END
		FROM (SELECT regexp_match(path,
			'^(?:(global)|base/(\d{1,10})|pg_tblspc/(\d{1,10})/PG_[^/]+/(\d{1,10}))'
			'/(\d{1,10})(?:_(?:fsm|vm|init))?(?:\.\d+)?$')) AS p (part)
		CROSS JOIN LATERAL (SELECT
			CASE WHEN part[1] IS NOT NULL THEN 1664 ELSE coalesce(part[3]::bigint, 1663) END,
			coalesce(part[2], part[4])::bigint, part[5]::bigint) AS f (tablespace, database, number)
		CROSS JOIN LATERAL (SELECT CASE WHEN greatest(f.tablespace, f.number) < 4294967296
			AND (f.database IS NULL OR f.database = (
				SELECT d.oid::bigint FROM pg_database AS d WHERE d.datname = current_database()))
			THEN pg_filenode_relation(f.tablespace::oid, f.number::oid)::oid END) AS r (relation)
		LEFT JOIN pg_index AS i ON i.indexrelid = r.relation
		JOIN pg_class AS c ON c.oid = coalesce(i.indrelid, r.relation));
COMMENT ON FUNCTION sys.table_of_file_name(text) IS
	'Table that a file of this database belongs to, by itself, an index or TOAST; else NULL; not in MySQL';
