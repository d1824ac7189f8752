"""CREATE EXTENSION in a database whose owner is not to be trusted, and to which schemas it belongs.

The owner of a database may create in its schema public, and schemas. Whatever stands there must not
become a part of what a superuser installs: every name of the script means pg_catalog or ourselves.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest
from conftest import close_cluster, open_cluster
from helpers import one, rows
from psycopg import errors

TYPES = (
    "text", "name", '"char"', "oid", "xid", "bigint", "integer", "boolean", "numeric",
    "double precision", "interval", "timestamptz", "text[]", "bigint[]", "oid[]", "integer[]",
    "regclass", "pg_lsn",
)  # fmt: skip
OPERATORS = (
    "||", "=", "<>", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "&", "<<", ">>", "~", "!~",
    "~~", "!~~", "~*", "<@", "@>",
)  # fmt: skip
FUNCTIONS = (
    "concat_ws", "quote_ident", "quote_literal", "quote_nullable", "format", "lower", "upper",
    "length", "left", "right", "round", "floor", "unnest", "cardinality", "hashtextextended",
    "translate", "date_trunc", "date_part", "age", "to_char", "pg_blocking_pids",
    "pg_partition_ancestors", "pg_partition_root", "pg_identify_object", "current_setting",
    "clock_timestamp", "now", "repeat", "substr", "substring", "replace", "split_part",
    "array_length", "starts_with", "strpos", "text", "name", "bigint", "oid", "numeric",
)  # fmt: skip
AGGREGATES = ("max", "min", "sum", "count", "array_agg", "string_agg", "bool_or", "bool_and")

PLANT = """
CREATE FUNCTION public.planted() RETURNS text LANGUAGE sql AS 'SELECT NULL::text';
DO $$
DECLARE
	types text[] := %(types)s;
	l text;
	r text;
	o text;
	result text;
BEGIN
	FOREACH l IN ARRAY types LOOP
		FOREACH r IN ARRAY types LOOP
			EXECUTE format('CREATE FUNCTION public.evil(%%1$s, %%2$s) RETURNS boolean '
				'LANGUAGE sql AS ''SELECT false''', l, r);
			EXECUTE format('CREATE FUNCTION public.evil_text(%%1$s, %%2$s) RETURNS text '
				'LANGUAGE sql AS ''SELECT NULL::text''', l, r);
			FOREACH o IN ARRAY %(operators)s LOOP
				EXECUTE format('CREATE OPERATOR public.%%s (LEFTARG = %%s, RIGHTARG = %%s, '
					'FUNCTION = public.%%s)', o, l, r,
					CASE WHEN o = '||' THEN 'evil_text' ELSE 'evil' END);
			END LOOP;
			FOREACH o IN ARRAY %(functions)s LOOP
				EXECUTE format('CREATE FUNCTION public.%%I(%%s, %%s) RETURNS text LANGUAGE sql '
					'AS ''SELECT NULL::text''', o, l, r);
			END LOOP;
		END LOOP;
		FOREACH o IN ARRAY %(functions)s LOOP
			EXECUTE format('CREATE FUNCTION public.%%I(%%s) RETURNS text LANGUAGE sql '
				'AS ''SELECT NULL::text''', o, l);
		END LOOP;
		EXECUTE format('CREATE FUNCTION public.step(%%1$s, %%1$s) RETURNS %%1$s LANGUAGE sql '
			'AS ''SELECT $1''', l);
		FOREACH o IN ARRAY %(aggregates)s LOOP
			EXECUTE format('CREATE AGGREGATE public.%%1$I(%%2$s) '
				'(SFUNC = public.step, STYPE = %%2$s)', o, l);
		END LOOP;
	END LOOP;
	FOR i IN 3 .. 10 LOOP
		EXECUTE format('CREATE FUNCTION public.concat_ws(%%s) RETURNS text LANGUAGE sql '
			'AS ''SELECT NULL::text''', array_to_string(array_fill('text'::text, ARRAY[i]), ', '));
	END LOOP;
END $$;
DROP FUNCTION IF EXISTS public.concat_ws(text, text[]);
CREATE FUNCTION public.concat_ws(text, VARIADIC text[]) RETURNS text LANGUAGE sql
	AS 'SELECT NULL::text';
CREATE TABLE public.pg_locks AS SELECT 1 AS pid;
CREATE TABLE public.pg_class AS SELECT 1 AS oid;
CREATE DOMAIN public.text AS integer;
"""
"""Look-alikes with every pair of types: some match an argument better than those of pg_catalog."""

FOREIGN_REFERENCES = """
WITH RECURSIVE ours AS (
	SELECT d.classid, d.objid FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND e.extname = 'performance_schema'
	UNION
	SELECT d.classid, d.objid FROM pg_depend AS d
	JOIN ours AS o ON d.refclassid = o.classid AND d.refobjid = o.objid
	WHERE d.deptype IN ('a', 'i')
)
SELECT DISTINCT pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) AS object
FROM ours AS o
JOIN pg_depend AS d ON d.classid = o.classid AND d.objid = o.objid
CROSS JOIN LATERAL pg_identify_object(d.refclassid, d.refobjid, 0) AS i
WHERE (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM ours)
	AND d.deptype <> 'e'
	AND i.schema IS DISTINCT FROM 'pg_catalog'
	AND i.identity NOT IN ('pg_catalog', 'performance_schema')
	AND d.refclassid <> 'pg_language'::regclass
ORDER BY 1
"""
"""What the members of the extension, the rules of its views and so on depend on, elsewhere.

Languages (plpgsql) have no schema, and none but a superuser makes one.
"""


@pytest.fixture(scope="module")
def cluster(pg_config: str) -> Iterator[Any]:
    """A server of this file: what is planted fills the digest table."""
    server = open_cluster(pg_config, extension=False, preload=True)
    server.psql("CREATE ROLE database_owner LOGIN")
    yield server
    close_cluster(server)


@pytest.fixture
def database(cluster: Any, conn: Any) -> Iterator[str]:
    """A database that belongs to somebody else, its schema public too."""
    conn.execute("CREATE DATABASE owned OWNER database_owner")
    with cluster.connect(dbname="owned") as admin:
        admin.execute("ALTER SCHEMA public OWNER TO database_owner")
    yield "owned"
    conn.execute("DROP DATABASE owned WITH (FORCE)")


@pytest.fixture
def mallory(cluster: Any, database: str, connect: Callable[..., Any]) -> Any:
    return connect(cluster, dbname=database, user="database_owner")


@pytest.fixture
def admin(cluster: Any, database: str, connect: Callable[..., Any]) -> Any:
    return connect(cluster, dbname=database)


def create(admin: Any, options: str = "") -> None:
    admin.execute(f"CREATE EXTENSION performance_schema {options}")


@pytest.mark.parametrize(
    "lists",
    [
        (("text", "name"), ("||", "="), ("concat_ws", "quote_ident"), ()),
        (TYPES, OPERATORS, FUNCTIONS, AGGREGATES),
    ],
    ids=["quiet", "everything"],
)
def test_nothing_planted_is_bound(mallory: Any, admin: Any, lists: Sequence[Sequence[str]]) -> None:
    """No object of the extension depends on anything outside pg_catalog and itself.

    Those of the quiet kind have the right result types: nothing fails if they are bound.
    """
    names = ("types", "operators", "functions", "aggregates")
    quoted = {
        name: "ARRAY[" + ", ".join("'" + value + "'" for value in values) + "]::text[]"
        for name, values in zip(names, lists)
    }
    mallory.execute("SET search_path TO pg_catalog")
    mallory.execute(PLANT % quoted)
    planted = one(
        admin, "SELECT count(*) FROM pg_operator WHERE oprnamespace = 'public'::regnamespace"
    )
    assert planted == len(lists[0]) ** 2 * len(lists[1])
    create(admin)
    admin.execute("SET search_path TO pg_catalog")
    assert [row.object for row in rows(admin, FOREIGN_REFERENCES)] == []
    admin.execute("SET search_path TO public")
    views = rows(
        admin,
        "SELECT format('%I.%I', schemaname, viewname) AS name FROM pg_catalog.pg_views "
        "WHERE schemaname OPERATOR(pg_catalog.=) ANY ('{performance_schema,sys}'::name[])",
    )
    assert len(views) > 40
    for view in views:
        admin.execute(f"SELECT * FROM {view.name}")


def test_search_path_is_put_back(admin: Any) -> None:
    admin.execute("SET search_path TO public, pg_catalog")
    create(admin)
    assert one(admin, "SHOW search_path") == "public, pg_catalog"


def test_it_is_no_part_of_public(mallory: Any, admin: Any) -> None:
    """It belongs to performance_schema, and the schema public may go."""
    create(admin)
    where = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname ~ '^perf'"
    assert one(admin, where) == "performance_schema"
    mallory.execute("DROP SCHEMA public CASCADE")
    assert one(admin, where) == "performance_schema"
    assert one(admin, "SELECT count(*) FROM performance_schema.threads") > 0


@pytest.mark.parametrize("schema", ["public", "sys", "elsewhere"])
def test_no_other_schema(admin: Any, schema: str) -> None:
    admin.execute("CREATE SCHEMA elsewhere")
    admin.execute("CREATE SCHEMA IF NOT EXISTS sys")
    with pytest.raises(errors.FeatureNotSupported, match="must be installed in schema"):
        create(admin, f"SCHEMA {schema}")
    admin.execute("DROP SCHEMA sys")
    create(admin)
    with pytest.raises(psycopg.Error, match=r"does not support SET SCHEMA|cannot move"):
        admin.execute(f"ALTER EXTENSION performance_schema SET SCHEMA {schema}")


@pytest.mark.parametrize("schema", ["performance_schema", "sys"])
def test_a_schema_of_others_is_not_adopted(mallory: Any, admin: Any, schema: str) -> None:
    """Its owner could change what is in it later."""
    mallory.execute(f"CREATE SCHEMA {schema}")
    for options in ("", "CASCADE"):
        with pytest.raises(psycopg.Error, match=f'schema "{schema}"'):
            create(admin, options)
    assert one(admin, "SELECT count(*) FROM pg_extension WHERE extname = 'performance_schema'") == 0
    admin.execute(f"DROP SCHEMA {schema}")
    create(admin)


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE TABLE performance_schema.threads (i int)",
        "CREATE VIEW performance_schema.planted AS SELECT 1 AS one",
        "CREATE FUNCTION performance_schema.planted() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TYPE performance_schema.planted AS ENUM ('a')",
        "CREATE OPERATOR performance_schema.|| (LEFTARG = text, RIGHTARG = name, "
        "FUNCTION = public.evil)",
        "CREATE DOMAIN performance_schema.text AS int",
    ],
)
def test_nothing_may_stand_in_our_schema(mallory: Any, admin: Any, planted: str) -> None:
    """Also if the schema is a superuser's now, and nobody else may create in it any more."""
    mallory.execute("CREATE SCHEMA performance_schema")
    mallory.execute(
        "CREATE FUNCTION public.evil(text, name) RETURNS text LANGUAGE sql AS 'SELECT $1'"
    )
    mallory.execute(planted)
    admin.execute("ALTER SCHEMA performance_schema OWNER TO postgres")
    with pytest.raises(errors.DuplicateObject, match='schema "performance_schema" is not empty'):
        create(admin)


def test_others_may_create_in_our_schema(mallory: Any, admin: Any) -> None:
    """A superuser's schema in which others may create is refused, too."""
    admin.execute("CREATE SCHEMA performance_schema")
    for grantee in ("PUBLIC", "database_owner"):
        admin.execute(f"GRANT CREATE ON SCHEMA performance_schema TO {grantee}")
        with pytest.raises(errors.InsufficientPrivilege, match="others may create"):
            create(admin)
        admin.execute(f"REVOKE CREATE ON SCHEMA performance_schema FROM {grantee}")
    create(admin)


def test_drop_and_create_again(admin: Any) -> None:
    """DROP EXTENSION leaves an empty schema, which serves again."""
    for _ in range(2):
        create(admin)
        admin.execute("DROP EXTENSION performance_schema")
        left = "SELECT array_agg(nspname::text) FROM pg_namespace WHERE nspname ~ '^(perf|sys$)'"
        assert one(admin, left) == ["performance_schema"]
    admin.execute("DROP SCHEMA performance_schema")
    create(admin)
    admin.execute("DROP SCHEMA performance_schema CASCADE")
    assert one(admin, "SELECT count(*) FROM pg_extension WHERE extname = 'performance_schema'") == 0


def test_dump_and_restore(cluster: Any, admin: Any) -> None:
    """A dump makes the schema before the extension, as its owner's."""
    create(admin)
    admin.execute("GRANT EXECUTE ON FUNCTION performance_schema.reset(text) TO database_owner")
    dump = subprocess.run(
        [str(cluster.bindir / "pg_dump")], env=cluster.client_env("owned"), check=True,
        capture_output=True, text=True,
    ).stdout  # fmt: skip
    admin.execute("DROP EXTENSION performance_schema")
    admin.execute("DROP SCHEMA performance_schema")
    subprocess.run(
        [str(cluster.bindir / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1"], input=dump,
        env=cluster.client_env("owned"), check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert one(admin, "SELECT count(*) FROM performance_schema.threads") > 0
    function = "'performance_schema.reset(text)'"
    assert one(admin, f"SELECT has_function_privilege('database_owner', {function}, 'EXECUTE')")
    schema = "'performance_schema'"
    assert one(admin, f"SELECT has_schema_privilege('database_owner', {schema}, 'USAGE')")
