"""What a bare machine needs before the build, a step a function.

    report.py     how a step speaks: done already, doing, cannot
    system.py     C++ compiler and Python headers
    bazel.py      Bazelisk, and a Bazel for it to start
    packages.py   virtual environment and Python packages
    peers.py      the libraries that the benchmarks compare with

Every step looks first and changes nothing where its work is done. `python3 -m tools.setup` runs
them (see __main__.py).
"""
