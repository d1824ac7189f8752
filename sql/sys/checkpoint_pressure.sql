-- Checkpoints that max_wal_size asks for, and pages that others than the checkpointer had to write, are what to look at.
--@ view Checkpoints, and who writes the pages of the buffer pool, since the server started or the counters were reset; not in MySQL
--@ checkpoints_timed Checkpoints that came by checkpoint_timeout
--@ checkpoints_requested Checkpoints that came by max_wal_size, or were asked for
--@ requested_pct The latter in per cent
--@ write_latency [time] Time of writing in checkpoints
--@ sync_latency [time] Time of fsync in checkpoints
--@ checkpoint_bytes [bytes] Written by checkpoints
--@ bgwriter_bytes [bytes] Written by the background writer
--@ bgwriter_rounds_stopped Rounds of it that ended at bgwriter_lru_maxpages
--@ wal_since_checkpoint [bytes] WAL since the last checkpoint began
--@ max_wal_size [bytes] At about so much a checkpoint comes
--@ wal_pct The former in per cent of the latter
--@ wal_buffers_full Times that WAL was written because its buffers were full
SELECT
	m.timed AS checkpoints_timed,
	m.requested AS checkpoints_requested,
	round(100.0 * m.requested / nullif(m.timed + m.requested, 0), 2) AS requested_pct,
	m.write_time * 1000000 AS write_latency,
	m.sync_time * 1000000 AS sync_latency,
	m.checkpoint_pages * p.page AS checkpoint_bytes,
	m.bgwriter_pages * p.page AS bgwriter_bytes,
	m.bgwriter_rounds_stopped,
	m.wal_since_checkpoint,
	p.max_wal_size,
	round(100.0 * m.wal_since_checkpoint / p.max_wal_size, 2) AS wal_pct,
	m.wal_buffers_full
FROM (
	SELECT
		max(count) FILTER (WHERE name = 'checkpoints_timed') AS timed,
		max(count) FILTER (WHERE name = 'checkpoints_requested') AS requested,
		max(count) FILTER (WHERE name = 'checkpoint_write_time') AS write_time,
		max(count) FILTER (WHERE name = 'checkpoint_sync_time') AS sync_time,
		max(count) FILTER (WHERE name = 'checkpoint_pages_written') AS checkpoint_pages,
		max(count) FILTER (WHERE name = 'bgwriter_pages_written') AS bgwriter_pages,
		max(count) FILTER (WHERE name = 'bgwriter_rounds_stopped') AS bgwriter_rounds_stopped,
		max(count) FILTER (WHERE name = 'log_lsn_checkpoint_age') AS wal_since_checkpoint,
		max(count) FILTER (WHERE name = 'log_waits') AS wal_buffers_full
	FROM performance_schema.engine_metrics) AS m
CROSS JOIN (
	SELECT current_setting('block_size')::bigint AS page, pg_size_bytes(current_setting('max_wal_size')) AS max_wal_size
	) AS p
