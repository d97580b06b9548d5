"""A small recogniser: convolutions see the shapes, a bidirectional GRU reads along the line.

    columns [B, W, HEIGHT] -> Masking -> Shapes -> [B, T, 192] -> GRU, Dense -> logits [B, T, 11]

One frame covers FRAME_WIDTH columns: T = ceil(W / 2). The Keras mask says which columns are a line
and which are padding; it goes with the features through every layer, shrinks where the frames do,
and ends on the logits, where CTCLoss, LabelErrorRate and CTCGreedyDecoder find the length of each
line in frames. Nobody passes a length by hand.
"""

import keras
from keras import layers, ops
from lines import HEIGHT, PADDING

from tf_warpctc.keras import CTCGreedyDecoder

FRAME_WIDTH = 2  # columns to a frame
BLANK = 10  # the classes 0 to 9 are the digits themselves


@keras.saving.register_keras_serializable(package="read_digits")
class Shapes(layers.Layer):
    """Two convolutions over the picture of a line; keeps the mask in step with the frames.

    Padding is set to zero before each convolution, as if the paper ended there: a line gives the
    same logits alone and beside longer ones. Halving the width is left to pooling, whose windows
    start at column 0 whatever the width; a strided convolution with `padding="same"` would move its
    windows with the parity of the width.

    Input: [B, W, HEIGHT] with a mask [B, W]. Output: [B, ceil(W / 2), 3 * 64] with a mask.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.edges = layers.Conv2D(32, 3, padding="same", activation="relu")
        self.halve = layers.MaxPooling2D(2, padding="same")
        self.strokes = layers.Conv2D(64, 3, padding="same", activation="relu")
        self.halve_height = layers.MaxPooling2D((1, 2))

    def build(self, input_shape):
        batch, width, height = input_shape
        self.edges.build((batch, width, height, 1))
        self.strokes.build((batch, None, height // 2, 32))
        self.built = True

    def call(self, columns, mask=None):
        x = self.halve(self.edges(blank_out(columns[..., None], mask)))
        x = self.halve_height(self.strokes(blank_out(x, self.compute_mask(columns, mask))))
        return ops.reshape(x, (ops.shape(x)[0], ops.shape(x)[1], x.shape[2] * x.shape[3]))

    def compute_mask(self, inputs, previous_mask=None):
        return None if previous_mask is None else previous_mask[:, ::FRAME_WIDTH]

    def compute_output_shape(self, input_shape):
        batch, width, height = input_shape
        frames = None if width is None else -(-width // FRAME_WIDTH)
        return (batch, frames, height // 4 * 64)


def blank_out(x, mask):
    """Sets the padding of [B, W, H, C] to zero."""
    return x if mask is None else x * ops.cast(mask, x.dtype)[:, :, None, None]


def build_model() -> keras.Model:
    """Returns the model, not yet compiled, from columns [B, W, HEIGHT] to logits [B, T, 11]."""
    columns = keras.Input((None, HEIGHT), name="columns")
    x = layers.Masking(PADDING)(columns)
    x = Shapes(name="shapes")(x)
    x = layers.LayerNormalization()(x)
    x = layers.Dropout(0.2)(x)
    x = layers.Bidirectional(layers.GRU(64, return_sequences=True), name="reading")(x)
    logits = layers.Dense(BLANK + 1, name="logits")(x)
    return keras.Model(columns, logits, name="read_digits")


def with_decoder(model: keras.Model) -> keras.Model:
    """Returns the recogniser to serve: from columns [B, W, HEIGHT] to digits, with their frames.

    Its outputs are those of `tf_warpctc.ctc_greedy_decode`: tokens (here the digits themselves,
    padded with -1), lengths, start_frames, end_frames, and so on.
    """
    decoder = CTCGreedyDecoder(blank_index=BLANK, output="details")
    return keras.Model(model.input, decoder(model.output))
