-- Errors by SQLSTATE, those that a routine handles included.
SELECT performance_schema.reset('events_errors_summary_by_thread_by_error');
SELECT 1 / 0;
SELECT 2 / 0;
SELEC;
SELECT * FROM no_such_table;
DO $$
BEGIN
	PERFORM 1 / 0;
EXCEPTION WHEN division_by_zero THEN
	RAISE NOTICE 'handled';
END $$;
DO $$ BEGIN RAISE EXCEPTION 'own' USING ERRCODE = 'ZZ999'; END $$;
SELECT error_name, sql_state, sum_error_raised, sum_error_handled, first_seen <= last_seen AS in_order
FROM performance_schema.events_errors_summary_by_thread_by_error
WHERE thread_id = performance_schema.ps_current_thread_id() AND sum_error_raised > 0
ORDER BY sql_state COLLATE "C" NULLS LAST;

-- Warnings are no errors
DO $$ BEGIN RAISE WARNING 'only a warning'; END $$;
SELECT sum_error_raised FROM performance_schema.events_errors_summary_by_thread_by_error
WHERE thread_id = performance_schema.ps_current_thread_id() AND sql_state = '01000'
	AND sum_error_raised > 0;

-- TRUNCATE
TRUNCATE performance_schema.events_errors_summary_by_thread_by_error;
SELECT coalesce(sum(sum_error_raised), 0) AS raised
FROM performance_schema.events_errors_summary_by_thread_by_error
WHERE thread_id = performance_schema.ps_current_thread_id();
