#!/usr/bin/env python3
"""Does the prototype record truthfully?  verify.py BINDIR [PORT] [GATE]: statements counted = statements run, rows = pg_stat_user_tables, readers under load."""
import os, re, shutil, subprocess, sys, tempfile, time

pg, port, gate = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "5713", sys.argv[3] if len(sys.argv) > 3 else "31"
d = tempfile.mkdtemp(prefix="budget-")
user = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
if user:
    shutil.chown(d, "nobody")
env = dict(os.environ, PGHOST=d, PGPORT=port, PGUSER="postgres", PGDATABASE="sbtest", BUDGET_GATE=gate)


def sql(query, db="sbtest"):
    done = subprocess.run([pg + "/psql", "-XAtq", "-c", query], env=dict(env, PGDATABASE=db), capture_output=True, text=True)
    if done.returncode:
        print("SQL:", query, done.stderr)
    return done.stdout.strip()


functions = "".join(
    f"create function budget_{name}({args}) returns {kind} language c as 'budget';"
    for name, args, kind in [("sums", "", "text"), ("check", "int", "text"), ("objects", "", "text"), ("history", "", "text"), ("set", "int", "void"), ("waits", "", "text")]
)
base = ["sysbench", "oltp_read_write", "--db-driver=pgsql", f"--pgsql-host={d}", f"--pgsql-port={port}", "--pgsql-user=postgres", "--pgsql-db=sbtest", "--tables=1", "--table-size=10000", "--rand-seed=7"]
try:
    subprocess.run(user + [pg + "/initdb", "-D", d + "/data", "-A", "trust", "-U", "postgres", "--locale=C", "-E", "UTF8"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    open(d + "/data/postgresql.conf", "a").write(f"port={port}\nlisten_addresses=''\nunix_socket_directories='{d}'\nfsync=off\nautovacuum=off\nmax_connections=20\nshared_preload_libraries='budget'\n")
    subprocess.run(user + [pg + "/pg_ctl", "-D", d + "/data", "-l", d + "/log", "-w", "start"], check=True, stdout=subprocess.DEVNULL, env=env)
    sql("create database sbtest", "postgres")
    sql(functions)
    subprocess.run(base + ["prepare"], env=env, check=True, stdout=subprocess.DEVNULL)
    sql("vacuum analyze")
    print("--- one session of 50 transactions: 1,000 statements")
    before = sql("select n_tup_ins, n_tup_upd, n_tup_del, idx_tup_fetch from pg_stat_user_tables where relname = 'sbtest1'")
    # kept open: a session's slot is cleared by its successor
    subprocess.run(base + ["--threads=1", "--time=0", "--events=50", "run"], env=env, check=True, stdout=subprocess.DEVNULL)
    time.sleep(1)
    after, sums, objects = sql("select n_tup_ins, n_tup_upd, n_tup_del, idx_tup_fetch from pg_stat_user_tables where relname = 'sbtest1'"), None, None
    print("pg_stat_user_tables ins, upd, del, fetch:", [int(b) - int(a) for a, b in zip(before.split("|"), after.split("|"))])
    names = dict(line.split("|") for line in sql("select oid, relname from pg_class where relname ~ 'sbtest|k_1'").splitlines())
    print("objects by thread (fetch, insert, update, delete):")
    for line in sql("select budget_objects()").splitlines():
        fields = line.split()
        if fields[1] in names:
            print("  thread", fields[0], names[fields[1]], fields[2:])
    print(sql("select budget_sums()"))
    print("--- errors, cursors, nested, portals in parts, caught errors")
    script = """create table e(a int primary key);
insert into e select generate_series(1, 10); select bad; selec; begin; select 1/0; select 2; rollback;
do $$ begin begin insert into e values (1); exception when others then null; end; end $$;
create function f(n int) returns int language plpgsql as $$ declare x int; begin for i in 1..n loop select a into x from e where a = i; end loop; return x; end $$;
select f(5); begin; declare c cursor for select * from e; fetch 3 from c; fetch all from c; close c; commit;
select budget_sums(); select budget_history();"""
    print(subprocess.run([pg + "/psql", "-XAtq"], input=script, env=env, capture_output=True, text=True).stdout)
    print("--- readers under load")
    subprocess.run(base + ["cleanup"], env=env, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(base + ["prepare"], env=env, check=True, stdout=subprocess.DEVNULL)
    sql("vacuum analyze")
    load = subprocess.Popen(base + ["--threads=4", "--time=4", "--events=0", "run"], env=env, stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    for _ in range(2):
        print(sql("select budget_check(3000)"))
    out = load.communicate()[0]
    print("sysbench ran", re.search(r"total:\s+(\d+)", out).group(1), "statements; errors ignored:", re.search(r"ignored errors:\s+(\d+)", out).group(1))
    print(sql("select budget_sums()"))
    print("--- off, on again in the same session, and TRUNCATE")
    script = "select budget_set(0); select 1; select 2; select 3; select budget_set(31); select 4; select 5; select budget_set(-1); select 6; select budget_sums();"
    out = subprocess.run([pg + "/psql", "-XAtq"], input=script.replace("; ", ";\n"), env=env, capture_output=True, text=True).stdout
    print([line for line in out.splitlines() if "state 1" in line])
    print("\n".join(sorted(sql("select budget_waits()").splitlines())))
    print(subprocess.run(["grep", "-cE", "terminated|PANIC|FATAL", d + "/log"], capture_output=True, text=True).stdout, "bad lines in the log")
finally:
    subprocess.run(user + [pg + "/pg_ctl", "-D", d + "/data", "-m", "immediate", "stop"], stdout=subprocess.DEVNULL)
    shutil.rmtree(d, ignore_errors=True)
