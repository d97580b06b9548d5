"""From a data set to a training step, with padding and without: lines of very different length."""
