-- Everyone may look: the tables show each reader what that reader may see. Changes and resets are
-- the owner's, who may grant them.
GRANT SELECT ON ALL TABLES IN SCHEMA performance_schema TO PUBLIC;

-- Twins of UPDATE, INSERT, DELETE and TRUNCATE that also work on a hot standby and in a read-only
-- transaction. A switch is 'YES' / 'NO' or a boolean; NULL leaves it as it is. In patterns % stands
-- for any characters and _ for one. Not transactional.
CREATE FUNCTION performance_schema.set_instruments(
	pattern text, enabled text, timed text DEFAULT NULL)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_instruments';
COMMENT ON FUNCTION performance_schema.set_instruments(text, text, text) IS
	'Switches the instruments whose name matches; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.set_instruments(text, text, text) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_instruments(
	pattern text, enabled boolean, timed boolean DEFAULT NULL)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_instruments_boolean';
COMMENT ON FUNCTION performance_schema.set_instruments(text, boolean, boolean) IS
	'Switches the instruments whose name matches; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.set_instruments(text, boolean, boolean) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_consumers(pattern text, enabled text)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_consumers';
COMMENT ON FUNCTION performance_schema.set_consumers(text, text) IS
	'Switches the consumers whose name matches; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.set_consumers(text, text) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_consumers(pattern text, enabled boolean)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_consumers_boolean';
COMMENT ON FUNCTION performance_schema.set_consumers(text, boolean) IS
	'Switches the consumers whose name matches; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.set_consumers(text, boolean) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_thread_classes(
	pattern text, enabled text, history text DEFAULT NULL)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_thread_classes';
COMMENT ON FUNCTION performance_schema.set_thread_classes(text, text, text) IS
	'Switches the classes in setup_threads whose name matches; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.set_thread_classes(text, text, text) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_thread_classes(
	pattern text, enabled boolean, history boolean DEFAULT NULL)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_thread_classes_boolean';
COMMENT ON FUNCTION performance_schema.set_thread_classes(text, boolean, boolean) IS
	'Switches the classes in setup_threads whose name matches; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.set_thread_classes(text, boolean, boolean)
	FROM PUBLIC;

CREATE FUNCTION performance_schema.set_thread(
	thread_id bigint, instrumented text, history text DEFAULT NULL)
	RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_thread';
COMMENT ON FUNCTION performance_schema.set_thread(bigint, text, text) IS
	'Switches one running thread';
REVOKE EXECUTE ON FUNCTION performance_schema.set_thread(bigint, text, text) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_thread(
	thread_id bigint, instrumented boolean, history boolean DEFAULT NULL)
	RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_thread_boolean';
COMMENT ON FUNCTION performance_schema.set_thread(bigint, boolean, boolean) IS
	'Switches one running thread';
REVOKE EXECUTE ON FUNCTION performance_schema.set_thread(bigint, boolean, boolean) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_actor(
	user_name text, host text, enabled text, history text DEFAULT NULL)
	RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_actor';
COMMENT ON FUNCTION performance_schema.set_actor(text, text, text, text) IS
	'Makes or changes a rule in setup_actors; true if made';
REVOKE EXECUTE ON FUNCTION performance_schema.set_actor(text, text, text, text) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_actor(
	user_name text, host text, enabled boolean, history boolean DEFAULT NULL)
	RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_actor_boolean';
COMMENT ON FUNCTION performance_schema.set_actor(text, text, boolean, boolean) IS
	'Makes or changes a rule in setup_actors; true if made';
REVOKE EXECUTE ON FUNCTION performance_schema.set_actor(text, text, boolean, boolean) FROM PUBLIC;

CREATE FUNCTION performance_schema.drop_actor(user_name text, host text)
	RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_drop_actor';
COMMENT ON FUNCTION performance_schema.drop_actor(text, text) IS
	'Removes a rule from setup_actors; false if there is none';
REVOKE EXECUTE ON FUNCTION performance_schema.drop_actor(text, text) FROM PUBLIC;

CREATE FUNCTION performance_schema.set_object(
	object_type text, object_schema text, object_name text,
	enabled text, timed text DEFAULT NULL)
	RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_object';
COMMENT ON FUNCTION performance_schema.set_object(text, text, text, text, text) IS
	'Makes or changes a rule in setup_objects; true if made';
REVOKE EXECUTE ON FUNCTION performance_schema.set_object(text, text, text, text, text)
	FROM PUBLIC;

CREATE FUNCTION performance_schema.set_object(
	object_type text, object_schema text, object_name text,
	enabled boolean, timed boolean DEFAULT NULL)
	RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_set_object_boolean';
COMMENT ON FUNCTION performance_schema.set_object(text, text, text, boolean, boolean) IS
	'Makes or changes a rule in setup_objects; true if made';
REVOKE EXECUTE ON FUNCTION performance_schema.set_object(text, text, text, boolean, boolean)
	FROM PUBLIC;

CREATE FUNCTION performance_schema.drop_object(
	object_type text, object_schema text, object_name text)
	RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_drop_object';
COMMENT ON FUNCTION performance_schema.drop_object(text, text, text) IS
	'Removes a rule from setup_objects; false if there is none';
REVOKE EXECUTE ON FUNCTION performance_schema.drop_object(text, text, text) FROM PUBLIC;

CREATE FUNCTION performance_schema.reset(table_name text)
	RETURNS void LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_reset';
COMMENT ON FUNCTION performance_schema.reset(text) IS
	'TRUNCATE of one table, by name';
REVOKE EXECUTE ON FUNCTION performance_schema.reset(text) FROM PUBLIC;

CREATE FUNCTION performance_schema.reset_all()
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_reset_all';
COMMENT ON FUNCTION performance_schema.reset_all() IS
	'Resets all statistics and events, not the rules; returns the number of tables';
REVOKE EXECUTE ON FUNCTION performance_schema.reset_all() FROM PUBLIC;

CREATE FUNCTION performance_schema.monitor_enable(counter text)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_monitor_enable';
COMMENT ON FUNCTION performance_schema.monitor_enable(text) IS
	'Enables counters of engine_metrics: a name, a pattern with %, module_ and a subsystem, or all; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.monitor_enable(text) FROM PUBLIC;

CREATE FUNCTION performance_schema.monitor_disable(counter text)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_monitor_disable';
COMMENT ON FUNCTION performance_schema.monitor_disable(text) IS
	'Disables counters of engine_metrics, which keep what they have; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.monitor_disable(text) FROM PUBLIC;

CREATE FUNCTION performance_schema.monitor_reset(counter text)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_monitor_reset';
COMMENT ON FUNCTION performance_schema.monitor_reset(text) IS
	'Begins the columns ..._reset of counters of engine_metrics anew; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.monitor_reset(text) FROM PUBLIC;

CREATE FUNCTION performance_schema.monitor_reset_all(counter text)
	RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'performance_schema_monitor_reset_all';
COMMENT ON FUNCTION performance_schema.monitor_reset_all(text) IS
	'Begins counters of engine_metrics anew; returns their number';
REVOKE EXECUTE ON FUNCTION performance_schema.monitor_reset_all(text) FROM PUBLIC;

-- As the functions of these names in MySQL.
CREATE FUNCTION performance_schema.ps_current_thread_id()
	RETURNS bigint LANGUAGE C STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'performance_schema_current_thread_id';
COMMENT ON FUNCTION performance_schema.ps_current_thread_id() IS
	'Thread of this session, as in threads.thread_id; NULL if it is not recorded';

CREATE FUNCTION performance_schema.ps_thread_id(processlist_id bigint)
	RETURNS bigint LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'performance_schema_thread_id';
COMMENT ON FUNCTION performance_schema.ps_thread_id(bigint) IS
	'Thread of the session with this process id; NULL if there is none';

-- The sys views read pg_stat_activity, which shows a message as the client sent it.
CREATE FUNCTION performance_schema.shown_text(query text, running boolean)
	RETURNS text LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_shown_text';
COMMENT ON FUNCTION performance_schema.shown_text(text, boolean) IS
	'A message that may hold secrets, without its literals; a single query that runs as it is';
