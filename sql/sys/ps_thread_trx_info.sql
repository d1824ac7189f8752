-- The youngest transactions that fit into the option ps_thread_trx_info.max_length: always whole JSON.
CREATE FUNCTION sys.ps_thread_trx_info(in_thread_id bigint) RETURNS json
	LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
	RETURN (
		WITH transactions AS (
			SELECT DISTINCT ON (t.event_id) t.*
			FROM (
				SELECT * FROM performance_schema.events_transactions_current
				UNION ALL
				SELECT * FROM performance_schema.events_transactions_history) AS t
			WHERE t.thread_id = in_thread_id
			ORDER BY t.event_id, t.end_event_id
		), statements AS (
			SELECT DISTINCT ON (s.event_id) s.*
			FROM (
				SELECT * FROM performance_schema.events_statements_current
				UNION ALL
				SELECT * FROM performance_schema.events_statements_history) AS s
			WHERE s.thread_id = in_thread_id
			ORDER BY s.event_id, s.end_event_id
		), shown AS (
			SELECT t.event_id, json_build_object(
				'time', sys.format_time(t.timer_wait),
				'state', t.state,
				'mode', t.access_mode,
				'autocommitted', t.autocommit,
				'trx_id', t.trx_id,
				'isolation', t.isolation_level,
				'statements_executed', (
					SELECT coalesce(json_agg(json_build_object(
						'sql_text', s.sql_text,
						'time', sys.format_time(s.timer_wait),
						'schema', s.current_schema_name,
						'rows_examined', s.rows_examined,
						'rows_affected', s.rows_affected,
						'rows_sent', s.rows_sent,
						'tmp_tables', s.created_tmp_tables,
						'tmp_disk_tables', s.created_tmp_disk_tables,
						'sort_rows', s.sort_rows,
						'sort_merge_passes', s.sort_merge_passes) ORDER BY s.event_id), '[]')
					FROM statements AS s
					WHERE s.nesting_event_id = t.event_id AND s.nesting_event_type = 'TRANSACTION'
						OR s.event_id = t.nesting_event_id AND t.nesting_event_type = 'STATEMENT')) AS info
			FROM transactions AS t
		)
		SELECT json_agg(f.info ORDER BY f.event_id)
		FROM (
			SELECT s.event_id, s.info, sum(length(s.info::text) + 2) OVER (ORDER BY s.event_id DESC) AS length
			FROM shown AS s) AS f
		WHERE f.length <= (
			SELECT sys.sys_get_config('ps_thread_trx_info.max_length', '65535')::numeric));
COMMENT ON FUNCTION sys.ps_thread_trx_info(bigint) IS
	'The last transactions of a thread with their statements, as JSON';
