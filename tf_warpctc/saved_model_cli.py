"""TensorFlow's `saved_model_cli`, with the ops of this library registered.

    python -m tf_warpctc.saved_model_cli show --dir MODEL --all
    python -m tf_warpctc.saved_model_cli run --dir MODEL --tag_set serve ...

The program as TensorFlow installs it has no way to be told of custom ops.
"""

from tensorflow.python.tools import saved_model_cli

import tf_warpctc  # noqa: F401  registers the ops

if __name__ == "__main__":
    saved_model_cli.main()
