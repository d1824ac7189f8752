#!/usr/bin/env python3
"""What each part of the prototype costs: builds it part by part, counts under callgrind, writes results.json, prints the table.

    measure.py PG_CONFIG [--port N] [--only NAME,...]     measures (all: 15 minutes) and prints
    measure.py --print                                    prints what was measured

Counted as tools/insn.py does: the whole server under callgrind, sessions of two lengths, the difference of their costs over that of
their statements; own = code of the library, whole = all of the backend.  PostgreSQL 18.
"""
import glob, json, os, re, shutil, subprocess, sys, tempfile, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PARTS = ["STATEMENTS", "UTILITIES", "SUMS", "SWITCHES", "ERRORS", "TABLES", "TRANSACTIONS", "PROTOCOL", "IDLE", "FILES", "WAITS"]
LOADS = {"read_write": ("oltp_read_write", 20, (40, 240)), "point_select": ("oltp_point_select", 1, (300, 2300)), "nested": ("nested", 200, (10, 60))}
DEFAULT, EVERYTHING = 31, 127
NESTED = """create table if not exists n(a int primary key, b int); insert into n select i, i from generate_series(1, 1000) i; vacuum analyze n;
create function nested(k int) returns void language plpgsql as $$ declare x int; begin for i in 1..k loop select b into x from n where a = i; end loop; end $$;"""
FUNCTIONS = "create function budget_set(int) returns void language c as 'budget';"


class Server:
    """A private server, its client, under callgrind."""

    def __init__(self, bindir, port, library, gate):
        self.bin, self.port, self.library = bindir, port, library
        self.dir = tempfile.mkdtemp(prefix="budget-")
        self.user = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.dir, "nobody")
        self.env = dict(os.environ, PGHOST=self.dir, PGPORT=port, PGUSER="postgres", PGDATABASE="sbtest", BUDGET_GATE=str(gate))
        run = lambda *command: subprocess.run(self.user + list(command), check=True, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run(bindir + "/initdb", "-D", self.dir + "/data", "-E", "UTF8", "--locale=C", "-A", "trust", "-U", "postgres")
        with open(self.dir + "/data/postgresql.conf", "a") as conf:
            conf.write(f"port={port}\nlisten_addresses=''\nunix_socket_directories='{self.dir}'\nshared_buffers=128MB\nfsync=off\nautovacuum=off\n"
                       f"checkpoint_timeout=1h\nmax_connections=20\nshared_preload_libraries='{library}'\n")
        run(bindir + "/pg_ctl", "-D", self.dir + "/data", "-l", self.dir + "/log", "-w", "start")
        self.sql("create database sbtest", "postgres")
        if library:
            self.sql(FUNCTIONS)
        subprocess.run(self.sysbench("oltp_read_write") + ["prepare"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        for statement in NESTED.split(";\n")[0].split("; ") + [NESTED.split(";\n")[1]]:
            self.sql(statement)
        self.sql("vacuum analyze")
        self.sql("checkpoint")
        run(bindir + "/pg_ctl", "-D", self.dir + "/data", "-w", "stop")
        self.process = subprocess.Popen(
            self.user + ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={self.dir}/cg.%p", "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64",
                         "--LL=33554432,16,64", bindir + "/postgres", "-D", self.dir + "/data"],
            env=self.env, stdout=open(self.dir + "/vglog", "w"), stderr=subprocess.STDOUT, start_new_session=True)
        while subprocess.run([bindir + "/pg_isready", "-q", "-h", self.dir, "-p", port]).returncode:
            time.sleep(0.5)

    def sql(self, query, db="sbtest"):
        subprocess.run([self.bin + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", query], env=dict(self.env, PGDATABASE=db), check=True, stdout=subprocess.DEVNULL)

    def sysbench(self, load):
        return ["sysbench", load, "--db-driver=pgsql", "--pgsql-host=" + self.dir, f"--pgsql-port={self.port}", "--pgsql-user=postgres", "--pgsql-db=sbtest",
                "--tables=1", "--table-size=10000", "--rand-seed=7"]

    def session(self, load, turns):
        """Costs of the backend of one session: own and whole, and own by function."""
        before = set(glob.glob(self.dir + "/cg.*"))
        if load == "nested":
            script = self.dir + "/nested.sql"
            Path(script).write_text("select nested(200);\n")
            command = [self.bin + "/pgbench", "-n", "-f", script, "-M", "prepared", "-c", "1", "-j", "1", "-t", str(turns)]
        else:
            command = self.sysbench(load) + ["--threads=1", "--time=0", f"--events={turns}", "run"]
        subprocess.run(command, env=self.env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(3)
        dump = max(set(glob.glob(self.dir + "/cg.*")) - before, key=os.path.getsize)
        out = subprocess.run(["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", dump], capture_output=True, text=True).stdout
        names = re.search(r"^Events shown:\s+(.*)$", out, re.M).group(1).split()
        own, whole, functions = [0, 0, 0], [0, 0, 0], {}
        for line in out.splitlines():
            match = re.match(r"^\s*((?:[\d,]+|\.)(?:\s+(?:[\d,]+|\.))*)\s+(\S+?):(\S+).*\[(.*)\]\s*$", line)
            if not match:
                continue
            event = dict(zip(names, (0 if x == "." else int(x.replace(",", "")) for x in match.group(1).split())))
            cost = [event["Ir"], event["I1mr"], event["D1mr"] + event["D1mw"]]
            whole = [a + b for a, b in zip(whole, cost)]
            if self.library and os.path.basename(match.group(4)) == self.library + ".so":
                own = [a + b for a, b in zip(own, cost)]
                functions[match.group(3)] = [a + b for a, b in zip(functions.get(match.group(3), [0, 0, 0]), cost)]
        return own, whole, functions

    def cost(self, load):
        program, per, (few, many) = LOADS[load]
        small, large = self.session(program, few), self.session(program, many)
        n = per * (many - few)
        less = lambda a, b: [round((y - x) / n, 1) for x, y in zip(a, b)]
        functions = {name: less(small[2].get(name, [0, 0, 0]), cost) for name, cost in large[2].items()}
        return {"own": less(small[0], large[0]), "whole": less(small[1], large[1]),
                "functions": {name: cost for name, cost in sorted(functions.items(), key=lambda f: -f[1][0]) if cost[0] >= 1}}

    def stop(self):
        os.kill(int(open(self.dir + "/data/postmaster.pid").readline()), 2)
        self.process.wait(60)
        shutil.rmtree(self.dir, ignore_errors=True)


def states():
    """Name, library, switches at compile time, gate, loads."""
    yield "without", "", None, 0, ["read_write", "point_select", "nested"]
    for i in range(1, len(PARTS)):
        flags = [f"-DPART_{part}={int(part in PARTS[:i])}" for part in PARTS]
        yield "to " + PARTS[i - 1], "budget", flags, DEFAULT, ["read_write"]
    yield "default", "budget", [], DEFAULT, ["read_write", "point_select", "nested"]
    yield "everything", "budget", [], EVERYTHING, ["read_write", "point_select", "nested"]
    yield "off", "budget", [], 0, ["read_write", "point_select"]


def table(results):
    figures = lambda cost: f"{cost[0]:9.1f} {cost[1]:7.1f} {cost[2]:7.1f}"
    base = results.get("without", {})
    print(f"{'sysbench read write, a statement':34} {'Ir':>9} {'I1':>7} {'D1':>7}   more than the one before")
    last = [0, 0, 0]
    for name in ["to " + part for part in PARTS[:-1]] + ["default"]:
        if name not in results:
            continue
        own = results[name]["read_write"]["own"]
        print(f"{name:34} {figures(own)}   {figures([a - b for a, b in zip(own, last)])}")
        last = own
    print()
    for name in ["default", "everything", "off"]:
        for load, cost in results.get(name, {}).items():
            whole = [a - b for a, b in zip(cost["whole"], base[load]["whole"])] if load in base else [0, 0, 0]
            print(f"{name + ', ' + load:34} {figures(cost['own'])}   whole backend {figures(whole)}")


def main():
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if sys.argv[1] != "--print":
        config = sys.argv[1]
        port = sys.argv[sys.argv.index("--port") + 1] if "--port" in sys.argv else "5716"
        only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else None
        bindir = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
        for name, library, flags, gate, loads in states():
            if only and not any(re.fullmatch(o, name) for o in only):
                continue
            if flags is not None:
                subprocess.run([str(HERE / "build.sh"), config, *flags], check=True)
            server = Server(bindir, port, library, gate)
            try:
                results[name] = {load: server.cost(load) for load in loads}
            finally:
                server.stop()
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            print(name, {load: cost["own"] for load, cost in results[name].items()}, flush=True)
    table(results)


main()
