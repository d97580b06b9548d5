"""Set-up and build of the project: `python3 -m tools.setup` and `python3 -m tools.build`.

Nothing here is part of the installed package, and nothing needs more than Python's own library.
"""
