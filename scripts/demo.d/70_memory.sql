-- Memory of the Performance Schema itself
SELECT name, pg_size_pretty(size) AS size
FROM pg_shmem_allocations
WHERE name ILIKE '%performance_schema%';
