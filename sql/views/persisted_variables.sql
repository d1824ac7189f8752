--@ plain Settings that ALTER SYSTEM has written to postgresql.auto.conf, for who may read pg_file_settings
--@ variable_name Name of the setting
--@ variable_value Value in the file, as it was written
--@ source_line Line of the file; not in MySQL
--@ applied Is it in force, or would it be after a reload? Not in MySQL
--@ error Why not, if it cannot be; not in MySQL
SELECT p.name AS variable_name, p.setting AS variable_value, p.sourceline AS source_line, p.applied, p.error
FROM performance_schema.persisted_settings() AS p
WHERE p.name IS NOT NULL
