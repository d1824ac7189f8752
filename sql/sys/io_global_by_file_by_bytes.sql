--@ view File I/O per file, by bytes
--@ order s.total DESC
--@ file Path from the data directory
--@ count_read Reads
--@ total_read [bytes] Bytes read
--@ avg_read [bytes] Bytes of one read
--@ count_write Writes
--@ total_written [bytes] Bytes written
--@ avg_write [bytes] Bytes of one write
--@ total [bytes] Bytes read and written
--@ write_pct Per cent of the bytes that were written
--@ relation_name Table or index that the file holds, of this database; not in MySQL
SELECT
	f.file_name AS file,
	f.count_read,
	f.sum_number_of_bytes_read AS total_read,
	coalesce(round(f.sum_number_of_bytes_read::numeric / nullif(f.count_read, 0)), 0) AS avg_read,
	f.count_write,
	f.sum_number_of_bytes_write AS total_written,
	coalesce(round(f.sum_number_of_bytes_write::numeric / nullif(f.count_write, 0)), 0) AS avg_write,
	f.sum_number_of_bytes_read + f.sum_number_of_bytes_write AS total,
	coalesce(round(100.0 * f.sum_number_of_bytes_write
		/ nullif(f.sum_number_of_bytes_read + f.sum_number_of_bytes_write, 0), 2), 0) AS write_pct,
	f.relation_name
FROM performance_schema.file_summary_by_instance AS f
ORDER BY total DESC
