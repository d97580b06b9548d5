"""What was misread: the edits which turn a label into the digits read (Levenshtein 1966).

Written with nothing of TensorFlow, so that it is also a second opinion on LabelErrorRate.
"""


def align(label: list[int], read: list[int]) -> list[tuple[int | None, int | None]]:
    """Pairs up the positions of two sequences with as few edits as can be.

    Returns pairs in order: (i, j) where label[i] was read as read[j], rightly or wrongly; (i, None)
    where label[i] was missed; (None, j) where read[j] is one too many. Time and memory:
    O(len(label) * len(read)).

    >>> align([3, 5, 5], [3, 5])
    [(0, 0), (1, None), (2, 1)]
    """
    rows, cols = len(label) + 1, len(read) + 1
    cost = [[i + j for j in range(cols)] for i in range(rows)]  # right where i or j is 0
    for i in range(1, rows):
        for j in range(1, cols):
            cost[i][j] = min(
                cost[i - 1][j - 1] + (label[i - 1] != read[j - 1]),
                cost[i - 1][j] + 1,
                cost[i][j - 1] + 1,
            )

    pairs, i, j = [], rows - 1, cols - 1
    while i or j:
        if i and j and cost[i][j] == cost[i - 1][j - 1] + (label[i - 1] != read[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif i and cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
            pairs.append((i, None))
        else:
            j -= 1
            pairs.append((None, j))
    return pairs[::-1]


def count_edits(label: list[int], read: list[int]) -> int:
    """Returns the edit distance.

    >>> count_edits([3, 5, 5], [3, 6])
    2
    """
    return sum(i is None or j is None or label[i] != read[j] for i, j in align(label, read))
