"""scripts/sys_view.py writes both forms of a view from a file of sql/sys/. Needs no server."""

from __future__ import annotations

from pathlib import Path

import pytest
import sys_view

FILE = """-- A note.
--@ view Things, by time
--@ order s.spent DESC
--@ name What it's called
--@ spent [time] Time; of all
--@ never [time] Always NULL: not measured
--@ inner [raw] For programs
--@ deep [= repeat(' ', s.spent) || s.name] Indented
SELECT name, spent, never, inner, deep
FROM performance_schema.things
"""


def written(tmp_path: Path, text: str, name: str = "things") -> str:
    path = tmp_path / f"{name}.sql"
    path.write_text(text)
    return sys_view.written(path)


def test_both_forms_of_a_view(tmp_path: Path) -> None:
    raw, people = written(tmp_path, FILE).split("\n\n")
    assert raw.startswith(
        'CREATE VIEW sys."x$things" WITH (security_invoker = true) AS\nSELECT name'
    )
    assert "'Things, by time; times in picoseconds'" in raw
    assert "'Time, picoseconds; of all'" in raw
    assert "'Always NULL: not measured'" in raw
    assert "'What it''s called'" in raw
    assert people.startswith("CREATE VIEW sys.things WITH (security_invoker = true) AS")
    assert "sys.format_time(s.spent) AS spent" in people
    assert "repeat(' ', s.spent) || s.name AS deep" in people
    assert 'FROM sys."x$things" AS s\nORDER BY s.spent DESC;' in people
    assert "inner" not in people
    assert "'Things, by time, with units'" in people
    assert "'Time; of all'" in people


def test_users_and_hosts(tmp_path: Path) -> None:
    """One file for both; other braces are SQL's."""
    text = "--@ plain Things per {noun}\n--@ {column} {Noun}\nSELECT {column}, '{}' FROM by_{who}\n"
    users, hosts = written(tmp_path, text, "{who}_things").split("\n\n")
    assert "CREATE VIEW sys.user_things " in users
    assert "SELECT user_name, '{}' FROM by_user;" in users
    assert "CREATE VIEW sys.host_things " in hosts
    assert "'Things per client host'" in hosts
    assert "SELECT host, '{}' FROM by_host;" in hosts


def test_axes_of_sums(tmp_path: Path) -> None:
    """A file of sql/views/ is of the schema performance_schema, which grants all its tables at once."""
    folder = tmp_path / "views"
    folder.mkdir()
    text = "--@ plain Things {of}\n{declared}\n--@ n Number\nSELECT {keys} sum(n) FROM sum_{axis} {group}\n"
    thread, account, user, host, every = written(folder, text, "things_{axis}").split("\n\n")
    assert thread.startswith("CREATE VIEW performance_schema.things_by_thread ")
    assert "SELECT user_name, host, sum(n) FROM sum_by_account GROUP BY user_name, host;" in account
    assert "COMMENT ON COLUMN performance_schema.things_by_account.host IS" in account
    assert "things_by_user" in user and "things_by_host" in host
    assert "SELECT  sum(n) FROM sum_global ;" in every
    assert every.count("COMMENT ON COLUMN") == 1
    assert "GRANT" not in thread


def test_enabling_and_disabling(tmp_path: Path) -> None:
    """What declares nothing is written as it stands."""
    text = "-- {Switch}.\nCREATE PROCEDURE sys.{switch}() AS '{}';\nSELECT '{yes}', {on}, '{state}';\n"
    one, other = written(tmp_path, text, "{switch}_things").split("\n\n")
    assert one == "-- Enable.\nCREATE PROCEDURE sys.enable() AS '{}';\nSELECT 'YES', true, 'enabled';"
    assert other.endswith("SELECT 'NO', false, 'disabled';")
    assert written(tmp_path, "SELECT 1;\n\nSELECT 2;\n") == "SELECT 1;\n\nSELECT 2;"


@pytest.mark.parametrize(("form", "name"), [("plain", "things"), ("raw", '"x$things"')])
def test_one_form_only(tmp_path: Path, form: str, name: str) -> None:
    text = written(tmp_path, FILE.replace("--@ view", f"--@ {form}"))
    assert f"CREATE VIEW sys.{name} " in text
    assert text.count("CREATE VIEW") == 1


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (("[time] Time", "[hours] Time"), "no such kind: --@ spent"),
        (("--@ name What it's called", "--@ name"), "cannot be read: --@ name"),
        (("--@ view Things, by time\n", ""), "declares no view"),
        (
            ("SELECT name, spent, never, inner, deep\nFROM performance_schema.things\n", ""),
            "no query",
        ),
    ],
)
def test_a_file_that_is_no_view(tmp_path: Path, damage: tuple[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        written(tmp_path, FILE.replace(*damage))
