"""What of the MySQL servers needs no server: their command line, what is missing, the states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pfsbench import mysql, mysql_states, plan
from pfsbench.model import BenchError, ServerSpec
from pfsbench.mysqld import option_words


def test_options_as_the_server_wants_them() -> None:
    words = option_words({"performance_schema": True, "innodb_doublewrite": False, "port": 1})
    assert words == ["--performance_schema=ON", "--innodb_doublewrite=OFF", "--port=1"]


def test_a_missing_server_names_the_script() -> None:
    with pytest.raises(BenchError, match=r"bench/install_peers\.sh"):
        mysql.installed("MySQL 5.6.24", Path("/nonexistent/mysqld"))


def test_check_of_a_missing_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql, "PEERS_OF_ROOT", Path("/nonexistent"))
    monkeypatch.setattr(mysql, "NPM_SERVER", "nonexistent")
    with pytest.raises(BenchError, match=r"MySQL 5\.6\.24 is not installed"):
        mysql.check(ServerSpec(kind="mysql56"))


def test_plans_use_known_states_of_servers_that_are_on() -> None:
    """Off at start cannot be switched on, so only servers with the schema on are switched."""
    wanted = set()
    for name in ("mysql", "e5"):
        for cell in plan.read_plan(name).cells:
            for variant in cell.variants:
                if variant.server.kind == "postgresql":
                    continue
                on = dict(variant.server.conf).get("performance_schema", True)
                assert bool(variant.switch) == on
                wanted |= set(re.findall(r"pfsbench\.state\('(\w+)'\)", " ".join(variant.switch)))
    assert wanted == set(mysql_states.STATES)
