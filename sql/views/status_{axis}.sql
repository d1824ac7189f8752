-- What the sums of statements by event name say, under the names of MySQL's status variables.
--@ plain Status variables {of}: commands and their work
{declared}
--@ variable_name Name as in MySQL: Com_ and a command, Queries, Questions and sums of work
--@ variable_value Count since start or TRUNCATE of events_statements_summary_{axis}_by_event_name
SELECT {keys}
	'Com_' || c.name AS variable_name, s.count_star::text AS variable_value
FROM performance_schema.events_statements_summary_{axis}_by_event_name AS s
CROSS JOIN LATERAL (
	SELECT CASE s.event_name WHEN 'statement/com/Parse' THEN 'stmt_prepare' WHEN 'statement/com/Execute' THEN 'stmt_execute'
		WHEN 'statement/com/Close' THEN 'stmt_close'
		ELSE substring(s.event_name FROM '^statement/sql/(.*)') END) AS c (name)
WHERE c.name IS NOT NULL
UNION ALL
SELECT {keys}
	v.name, v.value::text
FROM (
	SELECT {keys}
		sum(CASE WHEN event_name LIKE 'statement/sql/%' THEN count_star ELSE 0 END) AS queries,
		sum(CASE WHEN event_name IN ('statement/com/Query', 'statement/com/Execute', 'statement/com/Function call')
			THEN count_star ELSE 0 END) AS questions,
		sum(sum_created_tmp_disk_tables) AS created_tmp_disk_tables,
		sum(sum_created_tmp_tables) AS created_tmp_tables,
		sum(sum_select_full_join) AS select_full_join,
		sum(sum_select_full_range_join) AS select_full_range_join,
		sum(sum_select_range) AS select_range,
		sum(sum_select_range_check) AS select_range_check,
		sum(sum_select_scan) AS select_scan,
		sum(sum_sort_merge_passes) AS sort_merge_passes,
		sum(sum_sort_range) AS sort_range,
		sum(sum_sort_rows) AS sort_rows,
		sum(sum_sort_scan) AS sort_scan
	FROM performance_schema.events_statements_summary_{axis}_by_event_name
	{group}
) AS s
CROSS JOIN LATERAL (VALUES
	('Queries', s.queries),
	('Questions', s.questions),
	('Created_tmp_disk_tables', s.created_tmp_disk_tables),
	('Created_tmp_tables', s.created_tmp_tables),
	('Select_full_join', s.select_full_join),
	('Select_full_range_join', s.select_full_range_join),
	('Select_range', s.select_range),
	('Select_range_check', s.select_range_check),
	('Select_scan', s.select_scan),
	('Sort_merge_passes', s.sort_merge_passes),
	('Sort_range', s.sort_range),
	('Sort_rows', s.sort_rows),
	('Sort_scan', s.sort_scan)
) AS v (name, value)
WHERE v.value IS NOT NULL
