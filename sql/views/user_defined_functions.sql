--@ plain Functions of loaded libraries in this database; those of the server itself are left out
--@ udf_name Name
--@ udf_return_type Type of the result
--@ udf_type function, procedure, window or aggregate
--@ udf_library Library, as pg_proc has it
--@ udf_usage_count Calls since pg_stat_reset, with track_functions = all; else NULL
--@ udf_schema Schema; not in MySQL
--@ udf_arguments Types of the arguments; not in MySQL
--@ udf_oid Function, as in pg_proc; not in MySQL
SELECT
	p.proname::text AS udf_name,
	format_type(p.prorettype, NULL) AS udf_return_type,
	CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'w' THEN 'window' WHEN 'a' THEN 'aggregate' ELSE 'function' END AS udf_type,
	f.probin AS udf_library,
	u.calls AS udf_usage_count,
	n.nspname AS udf_schema,
	pg_get_function_identity_arguments(p.oid) AS udf_arguments,
	p.oid AS udf_oid
FROM pg_proc AS p
JOIN pg_namespace AS n ON n.oid = p.pronamespace
LEFT JOIN pg_aggregate AS a ON a.aggfnoid = p.oid
JOIN pg_proc AS f ON f.oid = coalesce(a.aggtransfn, p.oid)
JOIN pg_language AS l ON l.oid = f.prolang AND l.lanname = 'c'
LEFT JOIN pg_stat_user_functions AS u ON u.funcid = p.oid
WHERE p.oid >= 16384
