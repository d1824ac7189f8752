-- One index makes another one redundant if the columns of that are its first ones, of the same operator classes,
-- collations and directions, over the same rows. A unique one enforces something, so only another unique one of the
-- same columns makes it redundant. Of two that are alike the one of a constraint stays, then the unique one, then the
-- older. Never listed: indexes of constraints, replica identities, and those that belong to a partitioned index.
--@ plain Indexes of this database that another index of the same table makes redundant
--@ table_schema Schema
--@ table_name Table
--@ redundant_index_name Index that can be dropped
--@ redundant_index_columns Its columns
--@ redundant_index_non_unique 1 = it is not unique
--@ dominant_index_name Index that does its work
--@ dominant_index_columns Its columns
--@ dominant_index_non_unique 1 = it is not unique
--@ subpart_exists Always 0: no index is of the first characters of a column
--@ sql_drop_index Drops it
WITH k AS MATERIALIZED (
	SELECT * FROM sys."x$schema_index_keys")
SELECT
	n.nspname::text AS table_schema,
	t.relname::text AS table_name,
	r.name AS redundant_index_name,
	array_to_string(r.columns, ',') AS redundant_index_columns,
	(NOT r.is_unique)::integer AS redundant_index_non_unique,
	d.name AS dominant_index_name,
	array_to_string(d.columns, ',') AS dominant_index_columns,
	(NOT d.is_unique)::integer AS dominant_index_non_unique,
	0 AS subpart_exists,
	'DROP INDEX ' || quote_ident(r.schema) || '.' || quote_ident(r.name) AS sql_drop_index
FROM k AS r
JOIN k AS d ON d.table_oid = r.table_oid AND d.index_oid <> r.index_oid
JOIN pg_class AS t ON t.oid = r.table_oid
JOIN pg_namespace AS n ON n.oid = t.relnamespace
WHERE r.may_go AND d.access_method = r.access_method AND d.keys[1:cardinality(r.keys)] = r.keys
	AND d.predicate IS NOT DISTINCT FROM r.predicate
	AND (r.expressions IS NULL OR d.expressions IS NOT DISTINCT FROM r.expressions)
	AND r.included <@ (d.columns || d.included)
	AND (cardinality(d.keys) = cardinality(r.keys) OR (d.is_ordered AND NOT r.is_unique))
	AND (NOT r.is_unique OR (d.is_unique AND d.nulls_distinct = r.nulls_distinct))
	AND (cardinality(d.keys) > cardinality(r.keys) OR cardinality(d.included) > cardinality(r.included)
		OR (NOT d.may_go, d.is_unique, -d.index_oid::bigint) > (NOT r.may_go, r.is_unique, -r.index_oid::bigint))
ORDER BY table_schema, table_name, redundant_index_name, dominant_index_name
