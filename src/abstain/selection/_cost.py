"""Cost: withhold where a person is cheaper than the mistake that is to be expected.

The cost-based view of abstention (Chow, 1970), which the paper sets against its budget; a cost
of abstaining that depends on the true class is what the paper leaves to future work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    FloatArray,
    IntArray,
    Mask,
    check_in_reach,
    check_labels,
    check_penalties,
    check_proba,
    check_sample_weight,
    float_array,
    number,
)
from abstain._kernels.confusion import expected_confusion
from abstain._schema import AMOUNT, MOST, Either, Keys, Number, amounts
from abstain.exceptions import ArgumentError, Way
from abstain.metrics import Decision, Metric, RankingMetric
from abstain.regions import Choice, GainThreshold, ScoreThreshold
from abstain.rules import Argmax, BestGain
from abstain.selection._decision import own_choice
from abstain.selection._window_search import most_valuable_window
from abstain.summaries import BatchSummary, LabelledSummary, RowSummary

# For a metric without an exact search, this many capacities are tried, then those around the
# best of them.
_COARSE = 128
_FINE = 16


#: What a policy file holds of a cost.
COST_KEYS: Keys = {
    "abstain": Either(number=AMOUNT, list=amounts("classes")),
    "errors": Either(null=None, list=amounts("classes", "classes")),
    "value_of_metric": Either(null=None, number=Number(0, MOST, open=True)),
}


@dataclass(frozen=True, eq=False, init=False)
class Cost:
    r"""What it costs to abstain and what it costs to be wrong.

    Parameters
    ----------
    abstain : float or array-like of shape (n_classes,)
        The cost of giving an example to a person; one number, or one for each true class, in the
        order of ``errors``.
    errors : array-like of shape (n_classes, n_classes), optional
        Entry (i, j): the cost of predicting class i as class j, in the order of ``classes_``: of
        two classes [negative, positive], or the sorted labels where neither is the positive one.
        Every error costs 1 when neither this nor ``value_of_metric`` is given.
    value_of_metric : float, optional
        What a metric of 1 is worth per example, instead of ``errors``: for a metric that is no
        sum over examples, such as auROC.

    Raises
    ------
    ValueError
        If a cost is negative, or neither 0 nor from 1e-30 to 1e30: products with it would not be
        numbers, and another unit says the same.

    Notes
    -----
    With ``errors`` M each example is decided by itself. Predicting j is expected to cost
    :math:`\sum_i p_i M_{ij}`, abstaining :math:`\sum_i p_i a_i`; the least is done, and where both
    cost the same the prediction stands. With 0/1 errors and one cost c that is Chow's rule:
    abstain where :math:`1 - \max_i p_i > c`.

    With ``value_of_metric`` v the abstention maximises v times the metric of the kept examples
    less the cost of abstaining per example.

    References
    ----------
    C. Chow (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on
    Information Theory 16(1).

    Examples
    --------
    A referral costs 40, a missed case 9,000, a false alarm 300:

    >>> import numpy as np
    >>> from abstain import Cost
    >>> cost = Cost(abstain=40, errors=[[0, 300], [9000, 0]])
    >>> proba = np.array([[0.999, 0.001], [0.97, 0.03], [0.05, 0.95]])
    >>> choice = cost.choose(proba)
    >>> choice.region.contains(proba, choice.rule.predict(proba))
    array([False,  True, False])
    """

    abstain: float | FloatArray
    errors: FloatArray | None
    value_of_metric: float | None

    def __init__(
        self,
        abstain: float | ArrayLike,
        errors: ArrayLike | None = None,
        *,
        value_of_metric: float | None = None,
    ) -> None:
        if errors is not None and value_of_metric is not None:
            raise ArgumentError(
                "Pass `errors` or `value_of_metric`, not both.",
                "errors",
                ways=[Way("", python="pass `errors`")],
            )
        matrix = None if errors is None else check_penalties(errors, name="errors")
        set_once = object.__setattr__
        set_once(self, "abstain", _checked_abstain(abstain, matrix))
        set_once(self, "errors", matrix)
        set_once(self, "value_of_metric", _checked_worth(value_of_metric))

    def choose(
        self,
        proba: ArrayLike,
        metric: Metric | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        decision: Decision = "auto",
    ) -> Choice:
        """Choose whom to withhold so that the total expected cost is least.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes)
            Calibrated, adapted probabilities.
        metric : Metric, optional
            The metric that ``value_of_metric`` is for.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        decision : {"auto", "argmax", "optimal"}
            How the kept rows are predicted, where ``value_of_metric`` is given; with ``errors``
            it is always the class of least expected cost.

        Returns
        -------
        Choice
        """
        rows = np.ascontiguousarray(check_proba(proba))
        weight = check_sample_weight(sample_weight, n_rows=len(rows))
        summary = RowSummary(rows, weight).in_own_order()
        return self.choose_for(summary, metric, decision=decision)

    def choose_for(
        self,
        summary: BatchSummary,
        metric: Metric | None = None,
        *,
        decision: Decision = "auto",
        labelled: LabelledSummary | None = None,
    ) -> Choice:
        """Choose for a batch that is checked and summarised."""
        n_classes = len(summary.class_sums)
        if self.value_of_metric is None:
            costs = self._error_matrix(n_classes), self._abstain_vector(n_classes)
            asked = None if metric is None else metric.choice_by_cost(*costs)
            return asked or self._per_example(n_classes)
        if metric is None:
            raise TypeError("`value_of_metric` needs the metric; pass `metric`.")
        if not isinstance(metric, Metric):
            raise TypeError(f"`metric` must be a Metric; got {metric!r}.")
        if isinstance(metric, RankingMetric) and metric.method == "deterministic":
            atoms, each = metric.atoms_of(summary), self._abstain_vector(n_classes)
            best = most_valuable_window(metric, atoms, self.value_of_metric, each)
            start, end = (0, 0) if best is None else (best.start, best.end)
            return metric.as_choice(atoms, start, end, decision)
        return self._along_budgets(
            summary, metric, lambda mark: own_choice(metric, summary, mark, decision, labelled)
        )

    def expected(
        self,
        proba: FloatArray,
        prediction: IntArray,
        abstain: Mask,
        *,
        sample_weight: FloatArray | None = None,
    ) -> float:
        """Return the expected cost per example of some decisions, from errors and abstention.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
            Calibrated, adapted probabilities.
        prediction : ndarray of shape (n,)
            Predicted columns.
        abstain : ndarray of bool, shape (n,)
            The rows that are withheld.
        sample_weight : ndarray of shape (n,), optional
            How much each row counts.

        Returns
        -------
        float
        """
        rows = np.ascontiguousarray(check_proba(proba))
        n, n_classes = rows.shape
        columns = check_labels(prediction, n_classes=n_classes, n_rows=n, name="prediction")
        withheld = np.asarray(abstain)
        if withheld.dtype != np.bool_ or withheld.shape != (n,):
            raise ArgumentError(
                f"`abstain` must be true or false for each of the {n} rows; got "
                f"{withheld.dtype} of shape {withheld.shape}.",
                "abstain",
            )
        weight = check_sample_weight(sample_weight, n_rows=n)
        return self._expected(rows, columns, withheld, weight)

    def _expected(
        self, rows: FloatArray, prediction: IntArray, abstain: Mask, sample_weight: Any
    ) -> float:
        weight = np.empty(0) if sample_weight is None else sample_weight
        kept = expected_confusion(rows, prediction, weight, ~abstain)
        withheld = expected_confusion(rows, prediction, weight, abstain).sum(axis=1)
        errors = 0.0 if self.value_of_metric is not None else self._error_matrix(rows.shape[1])
        spent = (kept * errors).sum() + withheld @ self._abstain_vector(rows.shape[1])
        return float(spent / (kept.sum() + withheld.sum()))

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as plain data."""
        return {
            "abstain": np.asarray(self.abstain).tolist(),
            "errors": None if self.errors is None else self.errors.tolist(),
            "value_of_metric": self.value_of_metric,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Cost:
        """Return the cost that ``to_dict`` described."""
        return cls(data["abstain"], data["errors"], value_of_metric=data["value_of_metric"])

    def check_n_classes(self, n_classes: int) -> None:
        """Raise if the costs are not for this number of classes."""
        for name, given in (("abstain", self.abstain), ("errors", self.errors)):
            if given is not None and np.ndim(given) and len(np.atleast_1d(given)) != n_classes:
                raise ArgumentError(
                    f"`{name}` of the cost must have an entry for each of the {n_classes} "
                    f"classes; got {len(np.atleast_1d(given))}.",
                    name,
                )

    def _abstain_vector(self, n_classes: int) -> FloatArray:
        self.check_n_classes(n_classes)
        return np.broadcast_to(np.asarray(self.abstain, dtype=np.float64), (n_classes,)).copy()

    def _error_matrix(self, n_classes: int) -> FloatArray:
        self.check_n_classes(n_classes)
        return 1 - np.eye(n_classes) if self.errors is None else self.errors

    def _per_example(self, n_classes: int) -> Choice:
        errors, abstain = self._error_matrix(n_classes), self._abstain_vector(n_classes)
        unit = errors[0, 1]
        if unit > 0 and np.ptp(abstain) == 0 and (errors == unit * (1 - np.eye(n_classes))).all():
            # Chow's rule to the last digit: strictly above the cost, in terms of 1 - max p.
            above = float(np.nextafter(abstain[0] / unit, np.inf))
            return Choice(ScoreThreshold("max-probability", above), Argmax())
        # The least number above 0: at equal cost the prediction stands.
        region = GainThreshold(errors - abstain[:, None], float(np.nextafter(0.0, 1.0)))
        return Choice(region, BestGain(-errors).simplified())

    def _along_budgets(
        self, summary: BatchSummary, metric: Metric, family: Callable[[float], Choice]
    ) -> Choice:
        """Try the metric's own choice for many capacities; take the one that is worth most."""
        total = summary.total
        sign = 1.0 if metric.greater_is_better else -1.0

        def worth(capacity: float) -> tuple[float, Choice]:
            choice = family(capacity)
            columns, out = choice.apply(summary.proba)
            if out.all():
                return -np.inf, choice
            value = metric.after_on(summary, choice, columns, out)
            spent = self._expected(summary.proba, columns, out, summary.weight)
            gain = sign * (self.value_of_metric or 0.0) * value - spent
            return (gain if np.isfinite(gain) else -np.inf), choice

        marks = total * np.arange(_COARSE) / _COARSE
        step = total / _COARSE
        tried = [(worth(float(mark)), float(mark)) for mark in marks]
        while step > max(1.0, 1e-4 * total) / 2:
            (_, _), middle = max(tried, key=lambda one: one[0][0])
            around = np.linspace(max(middle - step, 0.0), min(middle + step, total), _FINE + 1)
            tried += [(worth(float(mark)), float(mark)) for mark in around[1:-1]]
            step = 2 * step / _FINE
        return max(tried, key=lambda one: one[0][0])[0][1]


def _checked_abstain(abstain: float | ArrayLike, errors: FloatArray | None) -> float | FloatArray:
    values = float_array(abstain, "abstain")
    if values.ndim > 1 or values.size == 0:
        raise ArgumentError(
            f"`abstain` must be one cost, or one for each true class; got shape {values.shape}.",
            "abstain",
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ArgumentError(
            f"`abstain` must be finite and not negative; got {abstain!r}.", "abstain"
        )
    check_in_reach(values, "abstain")
    if values.ndim == 1 and errors is not None and len(values) != len(errors):
        raise ArgumentError(
            f"`abstain` and `errors` must be for the same classes; got {len(values)} costs of "
            f"abstaining and a {len(errors)} x {len(errors)} matrix.",
            "abstain",
        )
    return float(values) if values.ndim == 0 else values.copy()


def _checked_worth(value: float | None) -> float | None:
    if value is None:
        return None
    worth = number(value, "value_of_metric")
    if not np.isfinite(worth) or worth <= 0:
        raise ArgumentError(
            f"`value_of_metric` must be positive and finite; got {value!r}.", "value_of_metric"
        )
    check_in_reach(np.array([worth]), "value_of_metric")
    return worth
