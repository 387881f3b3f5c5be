"""How a ranking metric is estimated: the options that all of them take, and their checks."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, get_args

from abstain._inputs import MOST_SAMPLES, check_whole, is_whole, shown

__all__ = ["Estimation", "Method", "check_estimation"]

Method = Literal["deterministic", "sampled"]

#: The finest bins of p: of more, an empty bin for every row would take the memory.
MOST_BINS = 2**22
# The widest window and the highest order of a filter over window values.
_WIDEST = 10_001
_HIGHEST = 20


class Estimation(TypedDict, total=False):
    """The options of :class:`RankingMetric`, which all ranking metrics take."""

    method: Method
    n_samples: int
    smoothing: tuple[int, int] | None
    random_state: int
    bins: int | Literal["auto"] | None


def check_estimation(
    method: str,
    n_samples: int,
    smoothing: tuple[int, int] | None,
    bins: int | Literal["auto"] | None,
) -> None:
    """Refuse options that mean nothing, and say what would."""
    if method not in get_args(Method):
        raise ValueError(f'`method` must be "deterministic" or "sampled"; got {method!r}.')
    check_whole(n_samples, name="n_samples", most=MOST_SAMPLES)
    if smoothing is not None and not _is_filter(smoothing):
        raise ValueError(
            f"`smoothing` must be (odd window, order below it), such as (11, 1), or None; the "
            f"window at most {_WIDEST:,} and the order {_HIGHEST}; got {shown(smoothing)}."
        )
    if bins is None or (isinstance(bins, str) and bins == "auto"):
        return
    if not is_whole(bins) or not 2 <= bins <= MOST_BINS or bins & (bins - 1):
        raise ValueError(
            f"`bins` must be a power of two, such as 65536 and at most {MOST_BINS:,}, None or "
            f'"auto"; got {shown(bins)}.'
        )


def _is_filter(smoothing: Any) -> bool:
    """Tell whether something is the window and the order of a filter."""
    if not isinstance(smoothing, tuple | list) or len(smoothing) != 2:
        return False
    window, order = smoothing
    if not (is_whole(window) and is_whole(order)):
        return False
    return bool(window % 2 == 1 and 0 <= order < window <= _WIDEST and order <= _HIGHEST)
