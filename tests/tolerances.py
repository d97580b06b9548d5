"""How close to the oracle each dtype must come: set here and nowhere else. NumPy alone."""

import numpy as np

# Relative error of a loss. Half types are rounded on the way in only: their loss is float32.
LOSS_RTOL = {"float16": 1e-6, "bfloat16": 1e-6, "float32": 1e-6, "float64": 1e-12}

# A confident row's loss is near zero, and -log of a number near one: its error is absolute there.
LOSS_ATOL = {"float16": 1e-6, "bfloat16": 1e-6, "float32": 1e-6, "float64": 1e-14}

# Absolute error of a gradient whose upstream is 1, before it is rounded to the logits' dtype.
GRADIENT_ATOL = {"float16": 2e-6, "bfloat16": 2e-6, "float32": 2e-6, "float64": 1e-12}

# Distance from 1 to the next number, and the lowest normal number, of the half types.
_HALF = {"float16": (2.0**-10, 2.0**-14), "bfloat16": (2.0**-7, 2.0**-126)}


def half_rounding_step(values, dtype):
    """Half the distance between neighbours of `dtype` around each value: what rounding may move."""
    if dtype not in _HALF:
        return np.zeros_like(values)
    eps, lowest_normal = _HALF[dtype]
    magnitude = np.maximum(np.abs(values), lowest_normal)
    return 0.5 * eps * 2.0 ** np.floor(np.log2(magnitude))


def assert_gradient_close(actual, expected, dtype, weight=1.0, err_msg=""):
    """Compares one row's gradient [T, V] with `weight` times the oracle's."""
    target = weight * expected
    error = GRADIENT_ATOL[dtype] * max(1.0, abs(weight))
    bound = half_rounding_step(np.abs(target) + error, dtype) + error
    assert actual.shape == target.shape, err_msg
    wrong = ~(np.abs(actual - target) <= bound)
    if wrong.any():
        t, v = np.argwhere(wrong)[0]
        raise AssertionError(
            f"{err_msg}: gradient[{t},{v}] is {actual[t, v]!r}, expected {target[t, v]!r} "
            f"± {bound[t, v]:.3g}; {wrong.sum()} of {wrong.size} entries are off"
        )


def assert_losses_close(actual, expected, dtype):
    """Compares the losses [B], infinities included, and that none is negative."""
    assert actual.shape == expected.shape
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    bound = LOSS_RTOL[dtype] * np.abs(expected) + LOSS_ATOL[dtype]
    for b in np.flatnonzero(finite):
        error = abs(float(actual[b]) - expected[b])
        assert error <= bound[b] and actual[b] >= 0, (
            f"row {b}: loss is {actual[b]!r}, expected {expected[b]!r} ± {bound[b]:.3g}"
        )
