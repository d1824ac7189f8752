-- Waits per class, by total time; without idle, for people.
CREATE VIEW sys.wait_classes_global_by_latency WITH (security_invoker = true) AS
SELECT
	s.event_class,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.min_latency) AS min_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.max_latency) AS max_latency
FROM sys."x$wait_classes_global_by_latency" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.wait_classes_global_by_latency IS
	'Waits per class, by total time; without idle, with units';
COMMENT ON COLUMN sys.wait_classes_global_by_latency.event_class IS
	'Class: the first three parts of the event name';
COMMENT ON COLUMN sys.wait_classes_global_by_latency.total IS
	'Waits';
COMMENT ON COLUMN sys.wait_classes_global_by_latency.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.wait_classes_global_by_latency.min_latency IS
	'Shortest wait';
COMMENT ON COLUMN sys.wait_classes_global_by_latency.avg_latency IS
	'Mean wait';
COMMENT ON COLUMN sys.wait_classes_global_by_latency.max_latency IS
	'Longest wait';
GRANT SELECT ON sys.wait_classes_global_by_latency TO PUBLIC;
