-- Waits per user, by total time; without idle, for people.
CREATE VIEW sys.waits_by_user_by_latency WITH (security_invoker = true) AS
SELECT
	s.user_name,
	s.event,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.max_latency) AS max_latency
FROM sys."x$waits_by_user_by_latency" AS s
ORDER BY s.user_name, s.total_latency DESC;
COMMENT ON VIEW sys.waits_by_user_by_latency IS
	'Waits per user, by total time; without idle, with units';
COMMENT ON COLUMN sys.waits_by_user_by_latency.user_name IS
	'User; background = processes without one';
COMMENT ON COLUMN sys.waits_by_user_by_latency.event IS
	'Event';
COMMENT ON COLUMN sys.waits_by_user_by_latency.total IS
	'Waits';
COMMENT ON COLUMN sys.waits_by_user_by_latency.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.waits_by_user_by_latency.avg_latency IS
	'Mean wait';
COMMENT ON COLUMN sys.waits_by_user_by_latency.max_latency IS
	'Longest wait';
GRANT SELECT ON sys.waits_by_user_by_latency TO PUBLIC;
