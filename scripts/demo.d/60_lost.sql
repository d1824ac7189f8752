-- What was lost (performance_schema.status)
SELECT count(*) AS loss_counters, sum(variable_value) AS lost,
       coalesce(string_agg(variable_name || ' = ' || variable_value, ', ')
                FILTER (WHERE variable_value > 0), 'nothing') AS which
FROM performance_schema.status
WHERE variable_name LIKE '%\_lost' OR variable_name LIKE '%unstable\_reads';
