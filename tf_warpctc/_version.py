"""The version of this library, and the TensorFlow versions that it builds for and runs with.

The one place for both: read by the package when imported, by setup.py, and by tools/ through
`runpy`, so it imports nothing.
"""

__version__ = "0.1.0"

# Minor versions: TensorFlow's C++ interface holds within one, and not from one to the next.
SUPPORTED_TENSORFLOW = ("2.20", "2.21")
