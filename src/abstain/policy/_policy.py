"""Policy: the frozen rule, as data, to save, load and apply to new rows.

A policy file is JSON that a person can read. It holds numbers and names, nothing executable and
no name of a file; a checksum that tells a damaged file from a whole one; and, where its maker has
a key, a signature that tells who made it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

import abstain
from abstain._display import block, facts, next_steps, proportions, sentence
from abstain._files import write_text
from abstain._inputs import (
    ClassOrder,
    FloatArray,
    Missing,
    Scores,
    both_columns,
    check_count,
    check_sample_weight,
    on_device,
    one_row,
    read_scores,
    row_roles,
)
from abstain._kernels.proportions import adapted
from abstain._logs import logger
from abstain._numerics import clopper_pearson
from abstain._schema import (
    as_text,
    check_signature,
    check_whole,
    checksum,
    lifted,
    parsed,
    signature,
)
from abstain.audit import Audit, AuditedRows
from abstain.calibration import Calibrator
from abstain.certificates import Certificate
from abstain.deciding import (
    Batch,
    Given,
    Outcome,
    ShiftEvidence,
    calibrated_apart,
    decide,
    estimate_shift,
    warn_of,
    warn_of_scale,
)
from abstain.estimation import LEVEL, Estimate
from abstain.exceptions import (
    AbstainError,
    ArgumentError,
    AssumptionWarning,
    PolicyError,
    RepairWarning,
    Way,
    warn_user,
)
from abstain.metrics import Metric
from abstain.policy._decisions import Decisions, decided_rows, unknown_metric
from abstain.policy._stored import from_plain, to_plain, warn_of_own
from abstain.regions import Choice, Region
from abstain.rules import DecisionRule
from abstain.selection import Selection
from abstain.shift import Assumption, ShiftEstimator, ratio_of_priors
from abstain.summaries import LabelledSummary, RowSummary, fewer, summarise
from abstain.team import Team, TeamMetric, opinions_by_name

_logger = logger("policy")

# A batch of fewer rows says next to nothing about itself; of more probabilities, some rows do.
_FEWEST_CHECKED = 100
_MOST_CHECKED = 2**19
# A share above a budget by so much that chance seldom makes it is clearly above it.
_BY_CHANCE = 1e-3
_CLEARLY = 1.1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def warn_of_unscored(unscored: int, n_rows: int, at_most: int) -> None:
    """Warn where more rows have no score than may be withheld."""
    if unscored > at_most:
        warn_user(
            f"{unscored} of {n_rows} rows have no score, more than at_most={at_most}. All of them "
            f"are withheld, as nothing can be predicted for them, and no other row is.",
            RepairWarning,
            ways=[Way("at_most", at_most, f"at_most={at_most}")],
        )


def rule_of(outcome: Outcome) -> dict[str, Any]:
    """Return what a policy holds of the outcome for a batch, by its names."""
    if outcome.shift is None:
        raise TypeError("The class proportions of the batch were not estimated.")
    return {
        "source_priors": outcome.shift.estimator.source_priors_,
        "priors": outcome.shift.estimator.priors_,
        "region": outcome.choice.region,
        "rule": outcome.choice.rule,
        "estimate": outcome.estimate,
        "assumption": outcome.assumption,
    }


@dataclass(frozen=True, eq=False)
class Policy:
    """A frozen rule: scores in, decisions out, no refitting.

    Made by :meth:`abstain.Abstainer.decide`, or read from a file with :meth:`load`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The label of each column of probabilities; of two, [negative, positive].
    calibrator : Calibrator
        Turns scores into calibrated probabilities.
    source_priors, priors : ndarray of shape (n_classes,)
        Class proportions before and after the shift; their ratio adapts the probabilities.
    region : Region
        What is withheld.
    rule : DecisionRule
        How a class is predicted.
    metric : Metric
        The metric the rule was chosen for.
    estimate : Estimate or None
        The metric on the batch the rule was chosen on.
    selection : Selection or None
        How much was to be withheld, and by what order; for :meth:`adapt`.
    shift : ShiftEstimator or None
        How the class proportions were estimated; for :meth:`adapt`.
    source : LabelledSummary or None
        A compact summary of the validation data; for :meth:`adapt`.
    certificate : Certificate or None
        What held-out labels prove about the rule.
    assumption : Assumption or None
        What the class proportions rest on, the evidence, and what speaks against it.
    created : str
        When, in UTC.
    version : str
        The library version that made it.
    positive : label or None
        The positive class; None for more than two, or where neither is known to be it.
    columns : ndarray of shape (n_classes,)
        The label of each score column of an array; the classes when not given.
    made_from : dict or None
        What the columns of the tables are called that it was made from, where it was made on the
        command line: ``scores``, a name or a pattern with ``*``, and ``label``.
    team : Team or None
        Who is asked about referred rows, and what becomes of the answer; None where they are
        taken to know.
    """

    classes: NDArray[Any]
    calibrator: Calibrator
    source_priors: FloatArray
    priors: FloatArray
    region: Region
    rule: DecisionRule
    metric: Metric
    estimate: Estimate | None = None
    selection: Selection | None = None
    shift: ShiftEstimator | None = None
    source: LabelledSummary | None = None
    certificate: Certificate | None = None
    assumption: Assumption | None = None
    created: str = field(default_factory=_now)
    version: str = abstain.__version__
    positive: Any = None
    columns: NDArray[Any] = None  # type: ignore[assignment]
    made_from: Mapping[str, str] | None = None
    team: Team | None = None
    # Of a policy that was loaded, the checksum of its file; no copy with changes has it.
    _loaded: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Take the classes for the columns, where these are not given."""
        if self.columns is None:
            object.__setattr__(self, "columns", self.classes)

    @cached_property
    def order(self) -> ClassOrder:
        """How scores come in, and how the classes stand inside."""
        return ClassOrder(self.classes, self.columns, self.positive)

    @cached_property
    def ratios(self) -> FloatArray:
        """New over old class proportions, which adapt the probabilities."""
        return ratio_of_priors(self.priors, self.source_priors)

    def __eq__(self, other: object) -> bool:
        """Tell whether two policies are the same rule of the same data, whenever made."""
        if not isinstance(other, Policy):
            return NotImplemented
        other = replace(other, created=self.created, version=self.version)
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.metric.name, str(self.classes.tolist())))

    def __repr__(self) -> str:
        positive = "" if self.positive is None else f"positive class {self.positive}, "
        return (
            f"<Policy: {len(self.classes)} classes, {positive}metric {self.metric.name}, "
            f"withholds {self.region.describe()}, predicts {self.rule.describe()}, "
            f"made {self.created}>"
        )

    def _repr_html_(self) -> str:
        how = self.selection and self.selection.describe()
        return block(
            "Policy",
            f"for {self.metric.name}: a frozen rule",
            facts(
                [
                    ("withholds", self.region.describe()),
                    ("predicts", self.rule.describe()),
                    ("positive class", self.positive),
                    ("chosen for", how),
                    ("calibration", self.calibrator.name),
                    ("made", f"{self.created}, by abstain {self.version}"),
                    ("sha256", self.sha256[:16]),
                    ("certificate", self.certificate and str(self.certificate)),
                ]
            ),
            "" if self.estimate is None else sentence("On the batch that it was chosen on:"),
            "" if self.estimate is None else self.estimate.html(),
            proportions(self.classes.tolist(), self.source_priors, self.priors),
            "" if self.assumption is None else self.assumption.html(),
            "" if self.metric.known else unknown_metric(self.metric.name),
            next_steps(".apply(scores)", ".adapt(scores_recent)", '.save("triage.json")'),
        )

    @cached_property
    def sha256(self) -> str:
        """The checksum of the policy's content, which its file carries too: which rule it is."""
        return self._loaded or checksum(self.to_dict())

    @property
    def choice(self) -> Choice:
        """What is withheld, and how the rest is predicted."""
        return Choice(self.region, self.rule)

    def predict_proba(self, scores: ArrayLike) -> FloatArray:
        """Return calibrated, adapted probabilities of shape (n, n_classes)."""
        calibrated = self.calibrator.compact(self._read(scores).values)
        return both_columns(adapted(calibrated, self.ratios, out=calibrated))

    def apply(
        self,
        scores: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        missing: Missing = "error",
        at_most: int | None = None,
        audit: float | Audit | None = None,
        opinions: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> Decisions:
        """Decide about new rows, one or many.

        Parameters
        ----------
        scores : array-like or frame of shape (n,) or (n, n_classes)
            Scores on the scale the policy was made on: one dimension is of the positive class,
            columns of an array are in the order of ``columns``. A frame's columns are taken by
            the names of the classes, and its other columns and index are kept for ``to_frame``.
            A CUDA tensor of PyTorch or an array of CuPy stays on its device; see
            :mod:`abstain.cuda`.
        sample_weight : array-like of shape (n,), optional
            How much each row counts in ``decisions.estimate``; it changes no decision.
        missing : {"error", "refer", "drop"}
            What to do with a row without a score, which is one with NaN, None or null in any of
            its scores: raise an error; give it to a person; or leave it out, and then
            ``decisions.rows`` tells which rows are left.
        at_most : int, optional
            How many rows may be withheld, such as what people can look at in a day. Of those that
            the rule withholds the most pressing are, by ``decisions.priority`` and then in the
            order they come; the others are kept, with "over capacity" as their ``reason``. Rows
            without a score come first, and all of them are withheld, with a warning where they
            are more than this.
        audit : float or Audit, optional
            The share of the kept rows that is labelled as well, as for
            :meth:`abstain.Abstainer.decide`.
        opinions : array-like of shape (n,), or mapping of str to these, optional
            What was answered about the rows, as for :meth:`combine`: ``decisions.answer`` is
            what comes of it.

        Returns
        -------
        Decisions
            The decision about a row depends on that row alone, unless ``at_most`` is used up.

        Warns
        -----
        AssumptionWarning
            If the rule withholds clearly more of many rows than its budget, and no ``at_most`` is
            given; or if something else speaks against its figures here.
        """
        if on_device(scores):
            from abstain.cuda import apply

            for_memory: dict[str, Any] = {
                "sample_weight": sample_weight,
                "at_most": at_most,
                "audit": audit,
                "opinions": opinions,
            }
            return apply(  # type: ignore[return-value]
                self, scores, missing=missing, **for_memory
            )
        most = None if at_most is None else check_count(at_most, name="at_most")
        found = self._applied(scores, sample_weight, missing=missing, says=True)
        roles, outcome = found.roles, found.outcome
        if audit is not None:
            n_rows = len(found) if roles is None else roles.n_rows
            drawn = AuditedRows.of(audit, n_rows, None if roles is None else roles.rows)
            found = replace(found, audited=drawn)
        if opinions is not None:
            told = opinions_by_name(
                opinions, self.classes, len(found) if roles is None else roles.n_rows, "opinions"
            )
            rows = slice(None) if found.rows is None else found.rows
            found = replace(found, opinions={name: one[rows] for name, one in told.items()})
        referred = 0 if roles is None else roles.n_referred
        if most is None:
            self.warn_of_more(int(outcome.abstain.sum()) + referred, len(found))
            return found
        warn_of_unscored(referred, len(found), most)
        return replace(found, outcome=outcome.within(max(most - referred, 0)))

    def apply_one(
        self, row: Mapping[str, Any] | ArrayLike, *, missing: Missing = "error"
    ) -> dict[str, Any]:
        """Decide about one row, in a form that is ready for JSON.

        For services that answer one request at a time; the decision is the one of :meth:`apply`.

        Parameters
        ----------
        row : mapping, number or array-like of shape (n_classes,)
            The score of the positive class, or one for each class in the order of ``columns``; in
            a mapping by the names that columns of a frame may have. What else it holds is not
            looked at.
        missing : {"error", "refer"}
            What to do without a score, as in :meth:`apply`.

        Returns
        -------
        dict
            What :meth:`abstain.Decisions.to_frame` has in its columns, as plain values; None for
            what there is not, such as the gain where rows are withheld as a whole.

        Examples
        --------
        >>> from abstain import Abstainer
        >>> abstainer = Abstainer("accuracy", budget=0.2, calibration="identity", positive="ill")
        >>> fitted = abstainer.fit([0.1, 0.4, 0.6, 0.9], ["well", "ill", "well", "ill"])
        >>> policy = fitted.decide([0.2, 0.5, 0.5, 0.8, 0.9]).policy
        >>> decided = policy.apply_one({"id": 17, "p_ill": 0.8})
        >>> decided["abstain"], decided["prediction"]
        (False, 'ill')
        """
        if missing == "drop":
            raise ValueError('`missing` must be "error" or "refer" for one row; got "drop".')
        found = self._applied(one_row(row, self.columns), None, missing=missing, says=False)
        return decided_rows(found, of_part=True)[0]

    def rows(self, scores: ArrayLike, *, missing: Missing = "error") -> Decisions:
        """Decide about a part of many rows: what :meth:`apply` does about each row by itself.

        For streams and engines that apply a rule part by part. Rows are decided about as
        ``apply`` does, but nothing is estimated of the part, and nothing is said of it as a
        whole: that is for all parts together.

        Parameters
        ----------
        scores, missing
            As for :meth:`apply`.
        """
        return self._applied(scores, None, missing=missing, says=False)

    def _applied(
        self, scores: Any, sample_weight: ArrayLike | None, *, missing: Missing, says: bool
    ) -> Decisions:
        """Decide about rows, and say of them together what speaks against the figures, or not."""
        given = self._read(scores)
        values, roles = row_roles(given.values, missing=missing)
        if says and self.source is not None:
            warn_of_scale(values, self.calibrator, self.source)
        calibrated, _ = calibrated_apart(self.calibrator, values, roles)
        everyone, weight = roles.weights(sample_weight)
        shift = None
        if says:
            _logger.debug("applied to %d rows", len(roles))
            shift = self._evidence(calibrated, weight)
            warn_of(None if shift is None else shift.assumption)
        return Decisions(
            self,
            self.outcome(adapted(calibrated, self.ratios, out=calibrated), weight, shift),
            None if roles.nothing else roles,
            everyone,
            scores=values,
            frame=given.source,
            carried=given.others,
        )

    def outcome(
        self,
        compact: FloatArray,
        weight: FloatArray | None = None,
        shift: ShiftEvidence | None = None,
    ) -> Outcome:
        """Return what the rule does to rows of calibrated, adapted, compact probabilities."""
        choice = self.choice
        return Outcome(
            self.judged_by.at(self.ratios),
            choice,
            compact,
            choice.withheld(compact),
            weight,
            shift,
            Assumption("as-made") if shift is None else shift.assumption,
            level=self.level,
            certificate=self.certificate,
        )

    @property
    def judged_by(self) -> Metric:
        """The metric, of the final answers where there is a team."""
        if self.team is None or not self.metric.known:
            return self.metric
        return TeamMetric(self.metric, self.team)

    def combine(
        self,
        scores: ArrayLike,
        opinions: ArrayLike | Mapping[str, ArrayLike],
        *,
        missing: Missing = "error",
    ) -> NDArray[Any]:
        """Return the final answers: the model's where a row is kept, else the team's.

        Parameters
        ----------
        scores, missing
            As for :meth:`apply`.
        opinions : array-like of shape (n,), or mapping of str to these
            What was answered about the rows, or by each of several readers; None, NaN, NA or
            empty text where nothing. Those about rows that are kept are not read.

        Returns
        -------
        ndarray of shape (n,)
            Class labels; None where a row is referred and nobody has answered.

        Examples
        --------
        >>> from abstain import Abstainer
        >>> from abstain.team import Reviewer
        >>> abstainer = Abstainer("accuracy", budget=0.4, calibration="identity", shift="none",
        ...                       team="combine", reviewer=Reviewer(accuracy=0.8), positive=1)
        >>> fitted = abstainer.fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
        >>> policy = fitted.decide([0.1, 0.3, 0.6, 0.8, 0.95]).policy
        >>> policy.combine([0.1, 0.3, 0.6], [1, 1, 0])
        array([0, 1, 0])
        """
        answers: NDArray[Any] = self.apply(scores, missing=missing, opinions=opinions).answer
        return answers

    @property
    def level(self) -> float:
        """How often intervals are to hold."""
        return LEVEL if self.estimate is None else self.estimate.after.level

    def warn_of_more(self, withheld: int, n_rows: int) -> None:
        """Warn if the rule withholds more of new rows than its budget, clearly so of a share."""
        budget = None if self.selection is None else self.selection.budget
        if budget is None or withheld <= 1:
            return
        if isinstance(budget, int):
            if withheld <= budget:
                return
            asked, limit = f"{budget} rows", budget
        elif withheld <= _CLEARLY * budget * n_rows:
            return
        else:
            lowest, _ = clopper_pearson(withheld, n_rows, _BY_CHANCE)
            if lowest <= _CLEARLY * budget:
                return
            asked, limit = f"{budget:.1%}", int(budget * n_rows)
        warn_user(
            f"The rule withholds {withheld} of {n_rows} rows ({withheld / n_rows:.1%}), more than "
            f"the budget it was chosen for ({asked}): these rows are others than those. Choose "
            f"again for them with policy.adapt(scores), or withhold the most pressing alone with "
            f"apply(scores, at_most={limit}).",
            AssumptionWarning,
            ways=[
                Way("Policy.adapt", python="policy.adapt(scores)"),
                Way("at_most", limit, f"apply(scores, at_most={limit})"),
            ],
        )

    def _evidence(self, calibrated: FloatArray, weight: FloatArray | None) -> ShiftEvidence | None:
        """Estimate what new rows leave open, from some of them; None where that cannot be told.

        The rule stays as it is: this is for what is said of its figures.
        """
        given = self._given()
        if given is None or len(calibrated) < _FEWEST_CHECKED:
            return None
        rows = fewer(calibrated, weight, _MOST_CHECKED // len(self.classes))
        try:
            summary = summarise(rows[0], None if weight is None else rows[1])
            if isinstance(summary, RowSummary):
                # As they are decided about together.
                summary = summary.in_own_order()
            return estimate_shift(given, summary, used=self.ratios)
        except AbstainError:
            # Proportions that these rows cannot tell are those that the rule was made for.
            return None

    def _given(self) -> Given | None:
        """Return what the rule was made from; None where the policy does not carry it."""
        if self.source is None or self.shift is None:
            return None
        selection = self.selection or Selection()
        return Given(
            self.source, self.shift, self.judged_by, selection, self.classes, level=self.level
        )

    def _read(self, scores: Any) -> Scores:
        return read_scores(scores, self.order, scale=self.calibrator.scale)

    def adapt(
        self,
        scores_recent: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        drop_certificate: bool = False,
    ) -> Self:
        """Return the policy for what the rows have become, from unlabelled recent rows alone.

        The class proportions are estimated again and the region is chosen again, the way they
        were at first. The calibration stays.

        Parameters
        ----------
        scores_recent : array-like of shape (n,) or (n, n_classes)
            Scores of recent rows, as many as possible.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        drop_certificate : bool
            Choose again although the rule is certified; the new policy has no certificate.

        Returns
        -------
        Policy
            Its ``assumption`` says what may have happened to the recent rows, and how probable
            it is. If nothing explains their scores, there is a warning too: the new proportions
            are then not to be trusted.

        Raises
        ------
        ValueError
            If the policy does not carry what it takes, or is certified: a certified rule holds
            at every prevalence and needs no adapting.
        """
        given = self._given()
        if given is None or self.selection is None:
            raise ArgumentError(
                "This policy cannot adapt: it does not carry how it was chosen. Make it with "
                "Abstainer.decide(), from a shift estimator and a score with registered names.",
                ways=[Way("Abstainer.decide", python="Abstainer.decide()")],
            )
        if self.selection.arms is not None:
            raise ArgumentError(
                "What arms promise holds at every prevalence of its range and needs no adapting; "
                "with other labels, or for another range, make them again with "
                "Abstainer.decide().",
                ways=[Way("Abstainer.decide", python="Abstainer.decide()")],
            )
        if self.certificate is not None and not drop_certificate:
            raise ArgumentError(
                "This policy is certified at every prevalence and needs no adapting. Pass "
                "drop_certificate=True to choose again without the certificate.",
                "drop_certificate",
                ways=[Way("drop_certificate", True)],
            )
        read = self._read(scores_recent)
        warn_of_scale(read.values, self.calibrator, given.labelled)
        rows = self.calibrator.compact(read.values)
        weight = check_sample_weight(sample_weight, n_rows=len(rows))
        found = decide(given, Batch.of_rows(rows, weight, given.metric, self.selection))
        warn_of(found.assumption)
        return replace(
            self, **rule_of(found), certificate=None, created=_now(), version=abstain.__version__
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the policy that ``to_dict`` described, now or in any version before.

        Raises
        ------
        PolicyError
            If the data are not what the schema of a policy file says, or of an unknown version.
            No file is opened, whatever names the data hold.
        """
        return cls._read_plain(data, "is not complete or not consistent")

    @classmethod
    def _read_plain(cls, data: dict[str, Any], otherwise: str) -> Self:
        try:
            return cls(**from_plain(lifted(data, library=abstain.__version__)))
        except (TypeError, ValueError) as error:
            raise PolicyError(f"The policy {otherwise}: {str(error).rstrip('.')}.") from error

    def sign(self, key: bytes) -> str:
        """Return the signature of the policy: what nobody without the key can make.

        Parameters
        ----------
        key : bytes of length 16 or more
            The secret that signer and reader share, such as ``secrets.token_bytes(32)``.

        Returns
        -------
        str
            The HMAC-SHA256 of ``"abstain-policy "`` and the checksum ``sha256``, in hex.

        Examples
        --------
        >>> from abstain import Abstainer
        >>> decisions = Abstainer("accuracy", budget=0.2, calibration="identity").fit(
        ...     [0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]
        ... ).decide([0.2, 0.5, 0.5, 0.8, 0.9])
        >>> key = bytes(range(32))
        >>> decisions.policy.verify(decisions.policy.sign(key), key)
        """
        return signature(self.sha256, key)

    def verify(self, signed: str, key: bytes) -> None:
        """Raise unless a signature is that of this policy, by this key.

        Parameters
        ----------
        signed : str
            What :meth:`sign` returned.
        key : bytes of length 16 or more
            The key it was signed with.

        Raises
        ------
        PolicyError
            If the policy is another than was signed, or it was signed with another key.
        """
        check_signature(signed, self.sha256, key, "The policy")

    def save(self, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
        """Write the policy to a JSON file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced.
        key : bytes of length 16 or more, optional
            Signs the file, as :meth:`sign` does, for ``Policy.load(path, key=key)``.

        Raises
        ------
        PolicyError
            If the policy is not what a file may hold, so that it could not be loaded.

        Warns
        -----
        UserWarning
            If the metric or the score is your own: a file holds its name, not the function. The
            message says what it takes to use the file elsewhere.
        """
        content = self.to_dict()
        warn_of_own(self)
        self._read_plain(content, "cannot be kept in a file")
        write_text(path, as_text(content, key))

    def to_onnx(self, **options: Any) -> Any:
        """Return the policy as an ONNX model; see :func:`abstain.onnx.to_onnx`."""
        from abstain.onnx import to_onnx

        return to_onnx(self, **options)

    def to_python(self, **options: Any) -> str:
        """Return the policy as a file of plain Python; see :func:`abstain.python.to_python`."""
        from abstain.python import to_python

        return to_python(self, **options)

    def to_sql(self, dialect: str, **options: Any) -> str:
        """Return the policy as one SELECT of a dialect; see :func:`abstain.sql.to_sql`.

        ``table`` names the table and ``scores`` its score columns.
        """
        from abstain.sql import to_sql

        return to_sql(self, dialect, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, key: bytes | None = None) -> Self:
        """Read a policy from a JSON file.

        Parameters
        ----------
        path : str or path
            The file; of at most 256 MiB.
        key : bytes of length 16 or more, optional
            The key that the file must be signed with. Without one the file is taken as it is:
            its checksum finds damage, not somebody who wrote another rule and its checksum.

        Raises
        ------
        PolicyError
            If the file is cut, edited, too large, of an unknown schema, or no policy at all; or
            not signed with the key, where one is given, and then before anything else in it is
            looked at.
        """
        content, written, signed = parsed(path)
        if key is not None:
            check_whole(content, written, path)
            check_signature(signed, written, key, str(path))
        policy = cls.from_dict(content)
        if key is None:
            check_whole(content, written, path)
        object.__setattr__(policy, "_loaded", written)
        _logger.info("read %s: %r, by abstain %s", path, policy, policy.version)
        return policy
