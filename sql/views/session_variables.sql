--@ plain Settings of this session, as pg_settings shows them to the reader
--@ variable_name Name of the setting
--@ variable_value Its present value, in units of the last column
--@ unit Unit of the value, else NULL; not in MySQL
SELECT s.name AS variable_name, s.setting AS variable_value, s.unit
FROM pg_settings AS s
