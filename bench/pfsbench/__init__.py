"""The cost bench: what the extension costs, measured against itself, its absence and its peers.

    make bench-smoke             proves in under three minutes that the bench works
    make bench PLAN=e1           runs plans/e1.toml into results/<date>/e1/
    make bench-compare A=... B=...

Four parts that know only model.py of each other: plan.py decides what runs in which order,
executor.py does it, stats.py and checks.py judge, report.py and plots.py show. Only the executor
and what it drives (servers, workloads) have side effects; results are raw samples, and every
table and plot can be made again from them (`python -m pfsbench report FOLDER`).
"""
