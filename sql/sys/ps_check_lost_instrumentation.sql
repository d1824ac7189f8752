-- As in MySQL only what is not zero: an empty result is good.
--@ plain What could not be recorded, for lack of room most often
--@ variable_name Loss counter, see performance_schema.status
--@ variable_value How often
SELECT s.variable_name, s.variable_value
FROM performance_schema.status AS s
WHERE s.variable_name LIKE '%\_lost' AND s.variable_value::numeric > 0
ORDER BY s.variable_name
