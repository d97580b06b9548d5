"""The names that Bazel 4's C++ toolchain loads from rules_cc, which is otherwise downloaded.

There the real rules_cc only hands on Bazel's native rules, as this does.
"""

cc_binary = native.cc_binary
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_library = native.objc_library
