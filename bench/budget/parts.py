#!/usr/bin/env python3
"""What the product's own checks cost: takes one out at a time, builds, counts a statement, writes parts.json.

    parts.py WORKTREE SERVER INSN OUT.json [PART...]

WORKTREE: a checkout for this alone, whose changes are thrown away; SERVER: an installed server of PostgreSQL 18 to build into; INSN: tools/insn.py.
What is built is unsafe, each in the way that is said beside it: for counting only.  An edit that does not match exactly once is told, and left out.
Functions whose work depends on how often the server waits for its client are not counted (TIMING): so the figures hold to 1 %.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

TIMING = r"^(received|wrapper_recv|wrapper_epoll_wait|observed_recv|observed_epoll_wait|client_.*)(\.|$)"
COUNTS = {"oltp_read_write": "40,240", "oltp_point_select": "500,4500"}
PARTS = {}


def part(name, what, *edits):
    """edits: file, what stands there, what takes its place."""
    PARTS[name] = (what, edits)


part("portal", "is it the client's unnamed portal that executes this plan",
     ("src/pg/pg_query.h", "	Portal		portal = *pfs_pg_server.portal;\n\n	return pfs_likely(portal != NULL && portal->name[0] == '\\0' && portal->stmts != NIL && linitial(portal->stmts) == plan);", "	(void) plan;\n	return true;"))
part("plan", "is it still the plan by which the statement began",
     ("src/pg/pg_executor.c", "	return pfs_likely(queryDesc->planstate->plan == plan->planTree);", "	(void) queryDesc; (void) plan;\n	return true;"))
part("sampled times", "is this execution timed (times of table rows)",
     ("src/pg/relation/brief.h", "	if (pfs_likely(--known->until_timed != 0))\n		return true;\n	known->until_timed = 1;\n	return !pfs_session.rows.timed;", "	(void) known;\n	return true;"))
part("setup_objects", "is the relation watched, by the present rules",
     ("src/pg/relation/brief.h", "	return pfs_likely(known->oid == oid) && pfs_likely(known->watched) &&\n		pfs_likely(known->rules == pfs_load(&arena->objects_changed)) ? known : NULL;", "	(void) arena;\n	return pfs_likely(known->oid == oid) ? known : NULL;"))
part("spilled", "sorts, temporary files",
     ("src/pg/pg_query.h", "	return statement->host_watches != 0 || pfs_pg_has_spilled(statement);", "	(void) statement;\n	return false;"),
     ("src/pg/pg_plan.c", "	statement->host_base = (uint64) *pfs_pg_server.temporary_blocks;", "	(void) statement;"))
part("level", "level at which the statement and the call began (subtransactions)",
     ("src/pg/pg_statement.c", "	statement->host_level = statement->host_enter_level = pfs_pg_nest_level;", ""),
     ("src/pg/relation/brief.h", "	relations->level = pfs_pg_nest_level;", ""))
part("answered", "is the answer about this statement, and nothing has happened since it ran",
     ("src/pg/pg_protocol.c", "	if ((pfs_unlikely(mark != PFS_PG_HAS_RUN) && mark != PFS_PG_HAS_ENDED_BLOCK) || pfs_unlikely(!ends_plain(session, first)) ||\n		pfs_unlikely(session->answers[PFS_PG_ANSWER_EXECUTE] != PFS_ANSWER_COUNTED))",
      "	if ((pfs_unlikely(mark != PFS_PG_HAS_RUN) && mark != PFS_PG_HAS_ENDED_BLOCK))"))
part("disturbed", "has anything else happened while it ran (nested, subtransactions, errors, other portals)",
     ("src/pg/pg_executor.c", "	if (pfs_unlikely(pfs_pg_undisturbed != queryDesc->estate))\n	{\n		run_over(queryDesc);\n		return;\n	}\n	relations = pfs_relations_running;", "	relations = pfs_relations_running;"),
     ("src/pg/relation/brief.h", "	return pfs_likely(pfs_relations_running == NULL) && pfs_likely(pfs_wait_rows_known(&pfs_session));", "	return pfs_likely(pfs_wait_rows_known(&pfs_session));"),
     ("src/pg/pg_executor.c", "	if (pfs_unlikely(pfs_pg_entry.endings != PFS_PG_ENDINGS_OUT || pfs_pg_plan_is_unusual(statement) ||\n					 (changes ? !pfs_brief_leaves_nothing(relations) : count != 0)))", "	if (pfs_unlikely(pfs_pg_entry.endings != PFS_PG_ENDINGS_OUT))"))
part("aside", "rows to the client pass us by while it runs, errors do not",
     ("src/pg/pg_executor.c", "	pfs_pg_protocol_step_aside();\n	enter_untied(statement, &call.guard);", "	enter_untied(statement, &call.guard);"),
     ("src/pg/pg_executor.c", "	pfs_pg_protocol_return();\n	pfs_pg_error_unguard(&call.guard);", "	pfs_pg_error_unguard(&call.guard);"))
part("untied", "was the query before it ended",
     ("src/pg/pg_query.h", "	if (pfs_unlikely(query->relations.estate != NULL))\n		pfs_pg_untied_forget();\n	pfs_relations_init", "	pfs_relations_init"),
     ("src/pg/pg_executor.c", "		!(unnamed ? pfs_likely(pfs_pg_untied.relations.estate == NULL) : may_be_untied(queryDesc->plannedstmt)))", "		!(unnamed ? true : may_be_untied(queryDesc->plannedstmt)))"))
part("statement_id", "a number of its own, beside the event's",
     ("src/core/statement_hot.h", "		numbers.statement = plain ? session->statement_ids.next : pfs_statement_next_id(session);\n		if (plain)\n			pfs_add(&session->statement_ids.next, 1);", "		numbers.statement = plain ? numbers.event : pfs_statement_next_id(session);"),
     ("src/core/statement_hot.h", "		(nested ? session->free != NULL : session->newest == NULL) && pfs_statement_has_id(session);", "		(nested ? session->free != NULL : session->newest == NULL);"))


class Product:
    """A checkout that is built into a server, again and again."""

    def __init__(self, tree, server, insn):
        self.tree, self.server, self.insn = Path(tree), server, insn

    def restore(self):
        subprocess.run(["git", "-C", str(self.tree), "checkout", "-q", "--", "."], check=True)

    def edit(self, edits):
        """False: one of them does not match exactly once."""
        for name, old, new in edits:
            path = self.tree / name
            text = path.read_text()
            if text.count(old) != 1:
                print(f"{name}: {text.count(old)} times: {old[:60]!r}", flush=True)
                return False
            path.write_text(text.replace(old, new))
        return True

    def count(self, load):
        """Own instructions, lines of code and of data that miss, a statement."""
        command = [sys.executable, self.insn, "--pg", self.server + "/bin", "--library", "performance_schema", "--cache", "--port", "5697"]
        told = subprocess.run(command + ["--load", load, "--counts", COUNTS[load], "--without", TIMING], capture_output=True, text=True, check=True)
        own = {name: float(value) for name, value in re.findall(r"(\w+) (-?[\d.]+)", told.stdout.strip().splitlines()[-1])}
        return [own["Ir"], own["I1mr"], round(own["D1mr"] + own["D1mw"], 1)]

    def measure(self, what):
        subprocess.run(["make", "-j2", f"PG_CONFIG={self.server}/bin/pg_config", "install"], cwd=self.tree, check=True, stdout=subprocess.DEVNULL)
        return {"what": what, "read_write": self.count("oltp_read_write"), "point_select": self.count("oltp_point_select")}


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    product, out, names = Product(*sys.argv[1:4]), Path(sys.argv[4]), sys.argv[5:]
    results = json.loads(out.read_text()) if out.exists() else {}
    for name, (what, edits) in {"all": ("the product", ()), **PARTS}.items():
        if names and name not in names:
            continue
        product.restore()
        if product.edit(edits):
            results[name] = product.measure(what)
            print(name, results[name], flush=True)
            out.write_text(json.dumps(results, indent=1) + "\n")
    product.restore()


if __name__ == "__main__":
    main()
