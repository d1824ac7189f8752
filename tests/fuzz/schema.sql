-- What the fuzzed sessions work on. Tables r_* are only read; reset_data() restores the others.
CREATE TABLE r_small AS SELECT g AS x, 'row ' || g AS t FROM generate_series(1, 100) g;
CREATE TABLE r_key AS SELECT g % 300 AS k, g AS v FROM generate_series(1, 3000) g;
CREATE INDEX ON r_key (k);
CREATE TABLE r_sorted AS SELECT g / 10 AS p, (g * 7919) % 1000 AS q FROM generate_series(1, 1500) g;
CREATE INDEX ON r_sorted (p);
CREATE TABLE r_wide AS
	SELECT g AS n, (g * 7919) % 1500 AS m, repeat(md5(g::text), 6) AS t FROM generate_series(1, 1500) g;
CREATE TABLE r_one AS SELECT 1 AS x;
CREATE TABLE r_two AS SELECT 2 AS x;
CREATE TABLE r_three AS SELECT 3 AS x;
CREATE TABLE r_four AS SELECT g AS x FROM generate_series(4, 5) g;
CREATE TABLE r_five AS SELECT g AS x FROM generate_series(4, 5) g;
CREATE TABLE r_part (id int, k int) PARTITION BY RANGE (id);
CREATE INDEX ON r_part (id);
SELECT format('CREATE TABLE r_part_%s PARTITION OF r_part FOR VALUES FROM (%s) TO (%s)',
			  n, n * 20, n * 20 + 20) FROM generate_series(0, 9) n \gexec
INSERT INTO r_part SELECT g, g % 7 FROM generate_series(0, 199) g;

-- So many scans that what the library keeps about them is a piece of memory of its own.
SELECT 'CREATE VIEW many AS SELECT x FROM r_one UNION ALL SELECT x FROM r_two UNION ALL '
	|| 'SELECT x FROM r_three UNION ALL SELECT x FROM r_four UNION ALL '
	|| string_agg(format('SELECT x + %s FROM r_five', n), ' UNION ALL ')
	FROM generate_series(1, 80) n \gexec

CREATE TABLE latch (id int PRIMARY KEY);
INSERT INTO latch SELECT generate_series(1, 50);

CREATE TABLE w (id int PRIMARY KEY, k int, t varchar(100));
CREATE INDEX ON w (k);
CREATE TABLE wp (id int, k int, t varchar(100), PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE wp_0 PARTITION OF wp FOR VALUES FROM (0) TO (30);
CREATE TABLE wp_1 PARTITION OF wp FOR VALUES FROM (30) TO (60);
CREATE TABLE wp_2 PARTITION OF wp DEFAULT;
CREATE TABLE journal (n int GENERATED ALWAYS AS IDENTITY, what varchar(100), id int);
CREATE TABLE child (id int REFERENCES w DEFERRABLE INITIALLY DEFERRED, n int);

CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	BEGIN
		IF coalesce(new.k, old.k) % 5 = 0 THEN
			FOR r IN SELECT 1 / (3 - x) AS y FROM r_small ORDER BY x LOOP
				INSERT INTO journal (what, id) VALUES ('y' || r.y, 0);
			END LOOP;
		END IF;
	EXCEPTION WHEN division_by_zero THEN
		INSERT INTO journal (what, id) VALUES ('caught', coalesce(new.id, old.id));
	END;
	INSERT INTO journal (what, id) VALUES (tg_op, coalesce(new.id, old.id));
	IF coalesce(new.k, old.k) = 13 THEN
		RAISE EXCEPTION 'not 13' USING errcode = 'PF013';
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON w FOR EACH ROW EXECUTE FUNCTION note();

CREATE FUNCTION reset_data() RETURNS void LANGUAGE plpgsql SET session_replication_role = replica AS $$
BEGIN
	TRUNCATE w, wp, journal, child RESTART IDENTITY;
	INSERT INTO w SELECT g, g % 11, 'w' || g FROM generate_series(1, 60) g;
	INSERT INTO wp SELECT g, g % 11, 'p' || g FROM generate_series(0, 79) g;
END $$;

-- Lazily evaluated: a query inside stays open from row to row.
CREATE FUNCTION f_index(i int) RETURNS SETOF int LANGUAGE sql AS 'SELECT v FROM r_key WHERE k = i';
CREATE FUNCTION f_sorted(i int) RETURNS SETOF int LANGUAGE sql AS
	'SELECT q FROM r_sorted WHERE p BETWEEN i AND i + 9 ORDER BY p, q';
CREATE FUNCTION f_join(i int) RETURNS SETOF int LANGUAGE sql AS
	'SELECT v + x FROM r_key JOIN r_small ON x = v % 100 WHERE k = i';
CREATE FUNCTION f_break(i int) RETURNS SETOF int LANGUAGE sql AS
	'SELECT 100 / (v - 600) FROM r_key WHERE k = i';
CREATE FUNCTION f_rows(i int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT v FROM r_key WHERE k = i;
	RETURN NEXT i;
	RETURN QUERY SELECT f_sorted(i) LIMIT 3;
END $$;

-- Fetches from any portal; what fails is caught, and the portal perhaps closed there.
CREATE FUNCTION f_fetch(portal text, n int, closing bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := portal;
	r record;
	done text := '';
BEGIN
	BEGIN
		FOR i IN 1..n LOOP
			FETCH c INTO r;
			EXIT WHEN NOT FOUND;
			done := done || r::text;
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
		done := done || sqlstate;
		IF closing THEN
			CLOSE c;
		END IF;
	END;
	RETURN done;
END $$;
CREATE FUNCTION f_open(portal text, query text) RETURNS refcursor LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := portal;
BEGIN
	OPEN c SCROLL FOR EXECUTE query;
	MOVE c;
	RETURN c;
END $$;
CREATE FUNCTION f_fail(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM f_index(i);
	RETURN 10 / (i % 3);
EXCEPTION WHEN division_by_zero THEN
	IF i % 2 = 0 THEN
		RAISE EXCEPTION 'even %', i;
	END IF;
	RETURN (SELECT count(*) FROM r_key WHERE k < i);
END $$;
CREATE PROCEDURE p_steps(n int) LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT id FROM w ORDER BY id LIMIT n LOOP
		UPDATE w SET t = t || 'x' WHERE id = r.id;
		IF r.id % 3 = 0 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
	END LOOP;
END $$;
SELECT reset_data();
ANALYZE;
