"""How a ranking metric is estimated: the options that all of them take, and their checks."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

__all__ = ["Estimation", "Method", "check_estimation"]

Method = Literal["deterministic", "sampled"]


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
    if not isinstance(n_samples, int) or n_samples < 1:
        raise ValueError(f"`n_samples` must be a whole number, 1 or more; got {n_samples!r}.")
    if smoothing is not None:
        window, order = smoothing
        if window < 1 or window % 2 == 0 or not 0 <= order < window:
            raise ValueError(
                f"`smoothing` must be (odd window, order below it), such as (11, 1), or None; "
                f"got {smoothing!r}."
            )
    if bins not in (None, "auto") and (not isinstance(bins, int) or bins < 2 or bins & (bins - 1)):
        raise ValueError(
            f'`bins` must be a power of two, such as 65536, None or "auto"; got {bins!r}.'
        )
