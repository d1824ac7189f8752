--@ view File I/O per event name, by bytes
--@ order s.total_requested DESC
--@ event_name Event, without wait/io/file/
--@ total Operations
--@ total_latency [time] Total time
--@ min_latency [time] Shortest operation
--@ avg_latency [time] Mean operation
--@ max_latency [time] Longest operation
--@ count_read Reads
--@ total_read [bytes] Bytes read
--@ avg_read [bytes] Bytes of one read
--@ count_write Writes
--@ total_written [bytes] Bytes written
--@ avg_written [bytes] Bytes of one write
--@ total_requested [bytes] Bytes read and written
SELECT
	replace(f.event_name, 'wait/io/file/', '') AS event_name,
	f.count_star AS total,
	f.sum_timer_wait AS total_latency,
	f.min_timer_wait AS min_latency,
	f.avg_timer_wait AS avg_latency,
	f.max_timer_wait AS max_latency,
	f.count_read,
	f.sum_number_of_bytes_read AS total_read,
	coalesce(round(f.sum_number_of_bytes_read::numeric / nullif(f.count_read, 0)), 0) AS avg_read,
	f.count_write,
	f.sum_number_of_bytes_write AS total_written,
	coalesce(round(f.sum_number_of_bytes_write::numeric / nullif(f.count_write, 0)), 0) AS avg_written,
	f.sum_number_of_bytes_read + f.sum_number_of_bytes_write AS total_requested
FROM performance_schema.file_summary_by_event_name AS f
WHERE f.event_name LIKE 'wait/io/file/%' AND f.count_star > 0
ORDER BY total_requested DESC
