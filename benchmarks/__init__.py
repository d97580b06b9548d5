"""Speed, accuracy and memory of tf_warpctc beside its peers, in one run on one machine.

    make bench                         everything, most of an hour on two cores
    make bench BENCH_ARGS=--quick      a few shapes once, some minutes
    make bench BENCH_ARGS=--docs       everything, and the results into docs/

Results go to build/bench/: results.json, performance_table.md and plots. From top to bottom:

    __main__.py   the command line
    plan.py       which shapes, peers and rounds, and what has to be reached
    run.py        runs all jobs in turn, each in a process of its own (jobs.py)
    worker.py     such a process: one peer, one shape
    timing.py quiet.py memory.py   how a call is timed, on a machine at rest, and its peak memory
    c_library.py  compiles what is in C: floors.c, what the machine allows; live_bytes.c, the heap
    peers/        the libraries, each behind one interface (peers/base.py)
    data.py reference.py           the same data for all, and the float64 answer
    sweeps.py     cost and error against each dimension
    summary.py report.py plots.py  medians, ratios and what they are judged by; table; pictures

Letters: T frames, U labels, V classes with the blank, B rows. Times are in ms unless named.
"""
