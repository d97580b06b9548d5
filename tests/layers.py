"""Checks the layer rules on source text: who may include or import whom, and what kernels may do.

    tf_warpctc  →  cc/ops  →  cc/kernels          cc/python → cc/kernels, the tests' way in

`check(path, text)` judges one file by its repository path and returns what is wrong with it, a line
for each fault. test_layers.py runs it over the tree, and over small bad examples.
"""

import ast
import pathlib
import re

CPP_SUFFIXES = (".h", ".cc", ".cu.cc", ".cuh")

# What a layer's C++ may include, by path prefix; system headers are looked at apart.
ALLOWED_INCLUDES = {
    "cc/kernels": ("cc/kernels/",),
    "cc/ops": (
        "cc/kernels/",
        "cc/ops/",
        "tensorflow/",
        "absl/",
        "xla/",
        "tsl/",
        "Eigen/",
        "google/",
    ),
    "cc/python": ("cc/kernels/", "cc/python/", "pybind11/", "Python.h"),
}
ABOVE_KERNELS = re.compile(r"^(tensorflow|absl|xla|tsl|Eigen|pybind11|unsupported)/|^Python\.h$")
CUDA_HEADER = re.compile(r"^(cuda|cub/|curand|nv/|thrust/|cooperative_groups|device_launch|sm_\d)")

# Kernels own nothing: memory comes from the caller, and the process is not theirs to end.
FORBIDDEN_IN_KERNELS = {
    "allocation": r"\b(malloc|calloc|realloc|aligned_alloc|posix_memalign|alloca|free|strdup)\s*\("
    r"|\bnew\b|\bdelete\b(?!\s*[;,])"
    r"|\bstd::(vector|string|map|set|unordered_\w+|deque|list|function|make_\w+|\w+_ptr|any)\b"
    r"|\bcuda(Malloc|Free|HostAlloc)\w*",
    "ending the process": r"\b(exit|_exit|_Exit|quick_exit|abort|terminate|assert|raise)\s*\("
    r"|\b(CHECK|LOG)\w*\s*\(",
    "an exception": r"\bthrow\b|\bcatch\s*\(",
    "threads or locks of its own": r"\bstd::(thread|jthread|async|mutex|condition_variable)\b",
    "a device sync": r"\bcuda((Device|Stream|Event)Synchronize|Memcpy|Memset)\s*\(",
    "output": r"\bstd::(cout|cerr|clog|ostream)\b|\b(f?printf|puts)\s*\(",
    "module-level state": r"^\s*(thread_local|static)\s+(?!constexpr|const\b|inline)\w[^()]*[;=]",
}


def without_comments(text):
    """C++ text with comments and the insides of string literals blanked, line by line as before."""

    def blank(match):
        token = match.group(0)
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return token[0] + " " * (len(token) - 2) + token[-1]

    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def includes(text):
    """(line number, header) of every #include."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line):
            yield number, match.group(1)


def is_cuda_file(path):
    return bool(re.search(r"_cuda\b|_cuda\.|\.cu\.cc$|\.cuh$|\.cu\.h$|_gpu\.|_gpu_", path))


def is_cpu_file(path):
    return bool(re.search(r"_cpu\b|_cpu\.|_simd\b|_simd\.|(^|/)simd", path))


def check_cpp(path, text):
    layer = next((layer for layer in ALLOWED_INCLUDES if path.startswith(layer + "/")), None)
    if layer is None:
        return [f"{path}: C++ outside of {', '.join(ALLOWED_INCLUDES)}"]
    faults = []
    for number, header in includes(text):
        where = f"{path}:{number}: includes {header}"
        local = "/" in header or header.endswith("Python.h")
        if local and header.startswith("cc/") and not header.startswith(ALLOWED_INCLUDES[layer]):
            faults.append(f"{where}, which is above {layer} or beside it")
        if layer == "cc/kernels" and ABOVE_KERNELS.search(header):
            faults.append(f"{where}: kernels know no host")
        if layer == "cc/python" and header.startswith(("tensorflow/", "absl/", "tsl/", "xla/")):
            faults.append(f"{where}: the kernels' module runs without TensorFlow")
        if CUDA_HEADER.search(header) and not is_cuda_file(path):
            faults.append(f"{where}: a CUDA header outside of the CUDA files")
        if is_cuda_file(header) and not is_cuda_file(path):
            faults.append(f"{where}: CPU code and CUDA code never include each other")
        if (
            is_cpu_file(header)
            and is_cuda_file(path)
            or (is_cuda_file(path) and header.endswith("intrin.h"))
        ):
            faults.append(f"{where}: CUDA code and CPU code never include each other")
    if layer == "cc/kernels":
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            for what, pattern in FORBIDDEN_IN_KERNELS.items():
                if match := re.search(pattern, line):
                    faults.append(f"{path}:{number}: {what} in a kernel: {match.group(0).strip()}")
    return faults


def imports(tree):
    """(line number, absolute or relative module) of every import statement, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def check_python(path, text):
    """The package imports no test or tool; what lies under its Keras classes needs no Keras."""
    faults = []
    for number, module in imports(ast.parse(text)):
        where = f"{path}:{number}: imports {module}"
        if module.split(".")[0] in (
            "tests",
            "examples",
            "benchmarks",
            "tools",
            "oracles",
            "pytest",
        ):
            faults.append(f"{where}, which is above the package")
        if not path.startswith("tf_warpctc/keras/") and re.match(
            r"(keras|tf_keras|tf_warpctc\.keras|\.+keras)(\.|$)", module
        ):
            faults.append(f"{where}: the ops' functions lie under the Keras classes")
    return faults


def check(path, text):
    """What is wrong with the file of that repository path; an empty list if nothing is."""
    if path.endswith(CPP_SUFFIXES):
        return check_cpp(path, text)
    if path.endswith(".py") and path.startswith("tf_warpctc/"):
        return check_python(path, text)
    return []


def source_files(root):
    """Repository paths of the files that the rules are about."""
    root = pathlib.Path(root)
    for top in ("cc", "tf_warpctc"):
        for path in sorted((root / top).rglob("*")):
            if path.is_file() and path.name.endswith((*CPP_SUFFIXES, ".py")):
                yield path.relative_to(root).as_posix()
