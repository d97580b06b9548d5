"""The names that Bazel 4's own Java toolchains load from rules_java, which is otherwise downloaded.

Nothing here is built with Java, but resolving the C++ toolchain loads all that are registered.
"""

java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_proto_library = native.java_proto_library
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
