-- Waits per client host, by total time; without idle, for people.
CREATE VIEW sys.waits_by_host_by_latency WITH (security_invoker = true) AS
SELECT
	s.host,
	s.event,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.max_latency) AS max_latency
FROM sys."x$waits_by_host_by_latency" AS s
ORDER BY s.host, s.total_latency DESC;
COMMENT ON VIEW sys.waits_by_host_by_latency IS
	'Waits per client host, by total time; without idle, with units';
COMMENT ON COLUMN sys.waits_by_host_by_latency.host IS
	'Client host; background = processes without client';
COMMENT ON COLUMN sys.waits_by_host_by_latency.event IS
	'Event';
COMMENT ON COLUMN sys.waits_by_host_by_latency.total IS
	'Waits';
COMMENT ON COLUMN sys.waits_by_host_by_latency.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.waits_by_host_by_latency.avg_latency IS
	'Mean wait';
COMMENT ON COLUMN sys.waits_by_host_by_latency.max_latency IS
	'Longest wait';
GRANT SELECT ON sys.waits_by_host_by_latency TO PUBLIC;
