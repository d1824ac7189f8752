-- A part of schema_redundant_indexes; MySQL's is x$schema_flattened_keys. The functions that show an expression wait
-- for a table that is locked: so none is used.
--@ raw Keys of the indexes of users' tables in this database
--@ table_oid Table
--@ index_oid Index
--@ schema Its schema
--@ name Its name
--@ access_method How it is built
--@ is_ordered Does it help where only its first columns are asked for?
--@ is_unique Is it unique?
--@ nulls_distinct May a unique one have NULL more than once?
--@ may_go Does nothing but its use as an index need it?
--@ columns Its key columns, and names of expressions
--@ included Columns that it only carries
--@ keys Key columns with operator class, collation and direction
--@ predicate Of which rows it is, as the server keeps it, without places; NULL = of all
--@ expressions What it has instead of columns; the same
SELECT
	i.indrelid AS table_oid,
	i.indexrelid AS index_oid,
	n.nspname::text AS schema,
	c.relname::text AS name,
	a.amname::text AS access_method,
	a.amname = 'btree' AS is_ordered,
	i.indisunique AS is_unique,
	NOT i.indnullsnotdistinct AS nulls_distinct,
	NOT i.indisprimary AND NOT i.indisexclusion AND NOT i.indisreplident AND NOT c.relispartition
		AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.conindid = i.indexrelid) AS may_go,
	k.columns,
	k.included,
	k.keys,
	regexp_replace(i.indpred::text, ':location -?\d+', '', 'g') AS predicate,
	regexp_replace(i.indexprs::text, ':location -?\d+', '', 'g') AS expressions
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_am AS a ON a.oid = c.relam
CROSS JOIN LATERAL (
	SELECT
		coalesce(array_agg(p.name ORDER BY p.number) FILTER (WHERE p.is_key), '{}'),
		coalesce(array_agg(p.name ORDER BY p.number) FILTER (WHERE NOT p.is_key), '{}'),
		coalesce(array_agg(concat_ws(' ', p.key, i.indclass[p.number - 1], i.indcollation[p.number - 1],
			i.indoption[p.number - 1]) ORDER BY p.number) FILTER (WHERE p.is_key), '{}')
	FROM (
		SELECT g, coalesce(ta.attname, ia.attname)::text, i.indkey[g - 1], g <= i.indnkeyatts
		FROM generate_series(1, i.indnatts) AS g
		LEFT JOIN pg_attribute AS ta ON ta.attrelid = i.indrelid AND ta.attnum = i.indkey[g - 1]
		LEFT JOIN pg_attribute AS ia ON ia.attrelid = i.indexrelid AND ia.attnum = g) AS p (number, name, key, is_key)
) AS k (columns, included, keys)
WHERE i.indisvalid AND i.indislive
	AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%'
