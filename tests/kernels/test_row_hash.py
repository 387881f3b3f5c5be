"""Numbers of rows: spread evenly, the same for equal rows, others for another seed."""

import numpy as np

from abstain._kernels.label_draws import row_numbers


def test_equal_rows_share_their_number_alone_and_in_any_batch():
    rows = np.random.default_rng(0).random((1_000, 3))
    rows[500] = rows[3]
    numbers = row_numbers(rows, 7)
    assert numbers[500] == numbers[3]
    assert (row_numbers(rows[3:4], 7) == numbers[3]).all()
    assert len(np.unique(numbers)) == 999
    assert ((numbers >= 0) & (numbers < 1)).all()


def test_numbers_are_even_and_move_with_the_seed_and_the_entries():
    rows = np.random.default_rng(1).random((50_000, 2))
    one, other = row_numbers(rows, 1), row_numbers(rows, 2**64 - 1)
    assert np.abs(np.quantile(one, [0.1, 0.5, 0.9]) - [0.1, 0.5, 0.9]).max() < 0.01
    for beside in (other, rows[:, 0], row_numbers(rows[:, ::-1].copy(), 1)):
        assert abs(np.corrcoef(one, beside)[0, 1]) < 0.02
