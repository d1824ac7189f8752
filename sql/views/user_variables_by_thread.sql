--@ plain What this session has SET under names with a dot that no library has defined; MySQL: user variables
--@ thread_id Thread of this session
--@ variable_name Name of the setting
--@ variable_value Its present value
SELECT t.thread_id, u.name AS variable_name, u.setting AS variable_value
FROM performance_schema.threads AS t CROSS JOIN performance_schema.user_settings() AS u
WHERE t.processlist_id = pg_backend_pid()
