-- The server keeps of each setting what RESET would give to this session, not what another would begin with: in the place
-- of the server's value stands what ALTER ROLE, ALTER DATABASE or the client's start-up packet set for this one.
--@ plain Settings of the server, as pg_settings shows them to the reader
--@ variable_name Name of the setting
--@ variable_value Its value without what was SET in this session, in units of the last column
--@ unit Unit of the value, else NULL; not in MySQL
SELECT s.name AS variable_name, s.reset_val AS variable_value, s.unit
FROM pg_settings AS s
WHERE NOT 'NO_RESET_ALL' = ANY (coalesce(pg_settings_get_flags(s.name), '{}'))
