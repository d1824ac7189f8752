--@ plain The same of sessions of one's own account
--@ processlist_id Process id, as in pg_stat_activity
--@ attr_name As in session_connect_attrs
--@ attr_value Value
--@ ordinal_position Number among the attributes of the session, from 0
SELECT s.*
FROM performance_schema.session_connect_attrs AS s
JOIN performance_schema.threads AS t ON t.processlist_id = s.processlist_id
JOIN performance_schema.threads AS own ON own.processlist_id = pg_backend_pid()
WHERE (t.processlist_user, t.processlist_host) = (own.processlist_user, own.processlist_host)
