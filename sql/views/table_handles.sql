-- Tables that sessions use now: what MySQL calls a handle is here the lock that a session has on the table.
-- A snapshot like pg_locks, see lock_instances.
CREATE VIEW performance_schema.table_handles WITH (security_invoker = true) AS
SELECT
	'TABLE'::text AS object_type,
	max(object_schema) AS object_schema,
	max(object_name::text) AS object_name,
	object_instance_begin,
	thread_id AS owner_thread_id,
	max(event_id) AS owner_event_id,
	NULL::text AS internal_lock,
	CASE WHEN bool_or(lock_mode NOT IN ('ACCESS SHARE', 'ROW SHARE')) THEN 'WRITE EXTERNAL'
		ELSE 'READ EXTERNAL' END AS external_lock,
	max(database_name) AS database_name
FROM performance_schema.lock_instances
WHERE locktype = 'relation' AND granted AND object_type IN ('TABLE', 'RELATION')
	AND lock_mode <> 'SIREAD'
GROUP BY object_instance_begin, thread_id, pid;
COMMENT ON VIEW performance_schema.table_handles IS
	'Tables that sessions have locked for use in their present transaction';
COMMENT ON COLUMN performance_schema.table_handles.object_type IS 'TABLE';
COMMENT ON COLUMN performance_schema.table_handles.object_schema IS 'Schema; NULL in other databases';
COMMENT ON COLUMN performance_schema.table_handles.object_name IS 'Name; in other databases oid';
COMMENT ON COLUMN performance_schema.table_handles.object_instance_begin IS
	'Number of the lock, the same as long as it lasts';
COMMENT ON COLUMN performance_schema.table_handles.owner_thread_id IS 'Thread that uses the table';
COMMENT ON COLUMN performance_schema.table_handles.owner_event_id IS
	'Statement of that thread: the running one, else the last one';
COMMENT ON COLUMN performance_schema.table_handles.internal_lock IS
	'Always NULL: there is no second lock inside the server';
COMMENT ON COLUMN performance_schema.table_handles.external_lock IS
	'READ EXTERNAL, or WRITE EXTERNAL if the session holds a mode that changes the table';
COMMENT ON COLUMN performance_schema.table_handles.database_name IS 'Database; not in MySQL';
