--@ plain What each setting is
--@ variable_name Name of the setting
--@ variable_scope GLOBAL; SESSION if a session may have its own; SESSION_ONLY if no file can set it
--@ data_type Integer, Numeric, String, Enumeration or Boolean
--@ min_value Least value, else NULL
--@ max_value Greatest value, else NULL
--@ documentation What it does
--@ unit Unit of value and range, else NULL; not in MySQL
--@ enum_values Values of an enumeration; not in MySQL
--@ context When it can be changed, as pg_settings says it; not in MySQL
--@ category Group of settings; not in MySQL
SELECT
	s.name AS variable_name,
	CASE WHEN 'NO_RESET_ALL' = ANY (coalesce(pg_settings_get_flags(s.name), '{}')) THEN 'SESSION_ONLY'
		WHEN s.context IN ('internal', 'postmaster', 'sighup') THEN 'GLOBAL'
		ELSE 'SESSION' END AS variable_scope,
	CASE s.vartype WHEN 'bool' THEN 'Boolean' WHEN 'integer' THEN 'Integer' WHEN 'real' THEN 'Numeric'
		WHEN 'enum' THEN 'Enumeration' ELSE 'String' END AS data_type,
	s.min_val AS min_value,
	s.max_val AS max_value,
	concat_ws(' ', s.short_desc, s.extra_desc) AS documentation,
	s.unit,
	s.enumvals AS enum_values,
	s.context,
	s.category
FROM pg_settings AS s
