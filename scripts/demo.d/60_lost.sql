-- What was lost (all zero: nothing)
SELECT variable_name, variable_value
FROM performance_schema.status
WHERE variable_name LIKE '%lost'
ORDER BY variable_value::numeric DESC, variable_name
LIMIT 12;
