"""Guards against code of one instruction set that the linker would hand to all of them.

An inline function or template that a *_simd.cc file uses but does not inline is emitted as a weak
symbol, once for each level. The linker keeps one of those copies for the whole library: if it is
the AVX-512 one, other code crashes on a machine without AVX-512. So no object of a level above
the baseline may define a weak symbol, unless the symbol's name carries that level (it lies in the
level's namespace).
"""

import subprocess

from tools.setup.report import SetupError

LEVELS = ("avx2", "avx512")

# nm's letters for symbols of which the linker keeps one copy of many.
MERGED = {"W", "V", "u"}


def merged_symbols(path):
    """Names (mangled, plain) of the symbols in an object that the linker may merge."""
    command = ["nm", "--defined-only", "--format=posix", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in result.stdout.splitlines()]
    return [fields[0] for fields in lines if len(fields) > 1 and fields[1] in MERGED]


def check(objects):
    """Raises SetupError where an object below this folder breaks the rule."""
    for level in LEVELS:
        for path in sorted(objects.glob(f"*_{level}/**/*.o")):
            leaked = [name for name in merged_symbols(path) if level not in name]
            if leaked:
                demangled = subprocess.run(
                    ["c++filt", *leaked[:3]], capture_output=True, text=True, check=True
                )
                raise SetupError(
                    f"{path.name} of level {level} defines symbols that other levels share: "
                    f"move them into namespace {level}, or inline them: "
                    + "; ".join(demangled.stdout.splitlines())
                )
