-- Everything that is one number, in one list.
--@ plain Status variables, counters of engine_metrics, memory of the extension, and the time
--@ variable_name Name, in lower case
--@ variable_value Value
--@ type Where it is from: Global Status, Engine Metrics - subsystem, Performance Schema, System Time
--@ enabled Is it counted: YES, NO; PARTIAL does not occur here
SELECT lower(s.variable_name) AS variable_name, s.variable_value, 'Global Status' AS type, 'YES' AS enabled
FROM performance_schema.global_status AS s
UNION ALL
SELECT m.name, m.count::text, 'Engine Metrics - ' || m.subsystem, CASE m.status WHEN 'enabled' THEN 'YES' ELSE 'NO' END
FROM performance_schema.engine_metrics AS m
UNION ALL
SELECT lower(p.name), p.memory::text, 'Performance Schema', 'YES'
FROM performance_schema.memory AS p
WHERE p.name = 'performance_schema.memory'
UNION ALL
SELECT 'now()', clock_timestamp()::timestamptz(3)::text, 'System Time', 'YES'
ORDER BY type, variable_name
