-- Shared memory it holds, reserved at start (performance_schema.memory)
SELECT replace(name, 'performance_schema.memory', 'total') AS name, row_count AS rows,
       row_size AS "bytes a row", sys.format_bytes(memory) AS memory
FROM performance_schema.memory
ORDER BY performance_schema.memory.memory DESC
LIMIT 10;
