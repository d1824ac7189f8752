--@ view File I/O per file, by total time
--@ order s.total_latency DESC
--@ file Path from the data directory
--@ total Operations
--@ total_latency [time] Total time
--@ count_read Reads
--@ read_latency [time] Time of reads
--@ count_write Writes
--@ write_latency [time] Time of writes
--@ count_misc Other operations: open, close, sync, stat
--@ misc_latency [time] Time of other operations
--@ relation_name Table or index that the file holds, of this database; not in MySQL
SELECT
	f.file_name AS file,
	f.count_star AS total,
	f.sum_timer_wait AS total_latency,
	f.count_read,
	f.sum_timer_read AS read_latency,
	f.count_write,
	f.sum_timer_write AS write_latency,
	f.count_misc,
	f.sum_timer_misc AS misc_latency,
	f.relation_name
FROM performance_schema.file_summary_by_instance AS f
ORDER BY total_latency DESC
