--@ view File I/O per event name, by total time
--@ order s.total_latency DESC
--@ event_name Event, without wait/io/file/
--@ total Operations
--@ total_latency [time] Total time
--@ avg_latency [time] Mean operation
--@ max_latency [time] Longest operation
--@ read_latency [time] Time of reads
--@ write_latency [time] Time of writes
--@ misc_latency [time] Time of other operations
--@ count_read Reads
--@ total_read [bytes] Bytes read
--@ avg_read [bytes] Bytes of one read
--@ count_write Writes
--@ total_written [bytes] Bytes written
--@ avg_written [bytes] Bytes of one write
SELECT
	replace(f.event_name, 'wait/io/file/', '') AS event_name,
	f.count_star AS total,
	f.sum_timer_wait AS total_latency,
	f.avg_timer_wait AS avg_latency,
	f.max_timer_wait AS max_latency,
	f.sum_timer_read AS read_latency,
	f.sum_timer_write AS write_latency,
	f.sum_timer_misc AS misc_latency,
	f.count_read,
	f.sum_number_of_bytes_read AS total_read,
	coalesce(round(f.sum_number_of_bytes_read::numeric / nullif(f.count_read, 0)), 0) AS avg_read,
	f.count_write,
	f.sum_number_of_bytes_write AS total_written,
	coalesce(round(f.sum_number_of_bytes_write::numeric / nullif(f.count_write, 0)), 0) AS avg_written
FROM performance_schema.file_summary_by_event_name AS f
WHERE f.event_name LIKE 'wait/io/file/%' AND f.count_star > 0
ORDER BY total_latency DESC
