-- Waits per event name, by total time; without idle, for people.
CREATE VIEW sys.waits_global_by_latency WITH (security_invoker = true) AS
SELECT
	s.events,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.max_latency) AS max_latency
FROM sys."x$waits_global_by_latency" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.waits_global_by_latency IS
	'Waits per event name, by total time; without idle, with units';
COMMENT ON COLUMN sys.waits_global_by_latency.events IS
	'Event';
COMMENT ON COLUMN sys.waits_global_by_latency.total IS
	'Waits';
COMMENT ON COLUMN sys.waits_global_by_latency.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.waits_global_by_latency.avg_latency IS
	'Mean wait';
COMMENT ON COLUMN sys.waits_global_by_latency.max_latency IS
	'Longest wait';
GRANT SELECT ON sys.waits_global_by_latency TO PUBLIC;
