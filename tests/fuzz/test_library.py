"""Anything into every argument of every public callable, and hostile input to sensible ones."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.special import softmax

from abstain import Abstainer, Cost, calibration, estimate, metrics, scores, shift

from .arrays import EDGES, anything, problems, seeds, weights
from .callables import callees
from .machine import Defect, fuzzed, outcome

CALLEES = [*callees()]
ALONE = [callee for callee in CALLEES if callee.parameter in callee.arguments]
CALIBRATORS = ["auto", "bcts", "beta", "dirichlet", "identity", "isotonic", "nbvs", "platt"]
CALIBRATORS += ["temperature", "vector"]
SHIFTS = ["auto", "bbse-hard", "bbse-soft", "em", "none", "rlls-hard", "rlls-soft"]
NAMES = [example for example, _ in metrics.summaries() if "FILE" not in example]
NAMES += ["kappa:linear", "f1:macro", "fbeta:2:macro", "cost:[[0,1],[5,0]]", "precision:macro"]
SCORES = ["entropy", "margin", "max-probability", "js-divergence", "random", "class-thresholds"]


def looked_at(callee):
    """A metric is NaN where it is not defined, and says so; nothing else is."""
    return (lambda result: None) if _of_a_metric(callee.name) else None


def _of_a_metric(name):
    kind = getattr(metrics, name.partition(".")[0], None)
    return isinstance(kind, type) or name.startswith(("Abstain", "abstain.", "certif"))


@pytest.mark.parametrize("callee", ALONE[::7], ids=repr)
def test_the_arguments_that_are_spoilt_would_have_worked(callee):
    callee.with_(callee.arguments[callee.parameter])


def hostile_whole_numbers():
    return st.sampled_from([0, -1, 1, 2, 3, 2**28, 2**31, 2**63, 10**6, 10**9, 10**400])


@fuzzed(
    "library",
    quick=125,
    share=4.0,
    examples=[
        {"callee": callee, "value": value}
        for callee in CALLEES
        for name, value in [
            ("Abstainer(budget=)", 10**400),
            ("AUROC(bins=)", 2**28),
            ("AUROC(n_samples=)", 10**6),
            ("AUROC(smoothing=)", 10**9),
            ("AUROC(smoothing=)", (10**9 + 1, 1)),
            ("TopKAccuracy(k=)", 10**400),
            ("FBeta(beta=)", 1e300),
            ("WeightedKappa(n_samples=)", 10**6),
            ("SampledMetric(n_groups=)", 10**9),
            ("Accuracy.draws(n_draws=)", 10**9),
            ("PartialAUROC.window_values(capacity=)", float("inf")),
            ("NoShift.prior_draws(n_draws=)", 10**9),
            ("calibration.expected_calibration_error(n_bins=)", 2**40),
            ("AutoCalibration(cv=)", 10**9),
            ("certificates.certify(evidence=)", 0.0),
            ("Cost.expected(proba=)", 0.0),
        ]
        if repr(callee) == name
    ],
    callee=st.sampled_from(CALLEES),
    value=anything() | hostile_whole_numbers(),
)
def test_anything_into_every_argument(callee, value):
    """Whatever is passed where, there is a result or a refusal of our own."""
    found = outcome(lambda: callee.with_(value), looked_at=looked_at(callee))
    return "refused" if isinstance(found, Exception) else "decided"


@st.composite
def calibrations(draw):
    name = draw(st.sampled_from(CALIBRATORS))
    binary = name in ("beta", "platt")
    logits, y = draw(problems(classes=(2, 2 if binary else 4), rows=(4, 40)))
    return name, logits, y, draw(weights(len(y)))


def as_proba(logits):
    return softmax(np.clip(logits, -1e100, 1e100), axis=1)


@fuzzed("library", quick=15, share=2.0, given=calibrations(), as_logits=st.booleans())
def test_calibrators(given, as_logits):
    """From any finite scores and weights come probabilities, or a refusal."""
    name, logits, y, weight = given
    values = logits if as_logits else as_proba(logits)
    scale = "logits" if as_logits else "probabilities"

    def call():
        calibrator = calibration.get(name, scale=scale)
        return calibrator.fit(values, y, weight).predict_proba(values)

    found = outcome(call)
    if isinstance(found, Exception):
        return "refused"
    if not (np.abs(found.sum(axis=1) - 1) < 1e-9).all() or (found < 0).any():
        raise Defect(f"these are no probabilities: {found}")
    return "decided"


@fuzzed("library", quick=12, share=2.0, name=st.sampled_from(SHIFTS), data=st.data())
def test_shift_estimators(name, data):
    """Proportions of any two sets are proportions, and so are their draws."""
    (logits, y), (batch, _) = (
        data.draw(problems(classes=(3, 3))),
        data.draw(problems(classes=(3, 3), rows=(1, 30))),
    )
    w, v = data.draw(weights(len(y))), data.draw(weights(len(batch)))

    def call():
        fitted = shift.get(name).fit(
            as_proba(logits), as_proba(batch), y, sample_weight_source=w, sample_weight_target=v
        )
        return fitted.priors_, fitted.weights_, fitted.transform(as_proba(batch))

    found = outcome(call)
    if isinstance(found, Exception):
        return "refused"
    if abs(found[0].sum() - 1) > 1e-9 or (found[0] < 0).any():
        raise Defect(f"these are no proportions: {found[0]}")
    return "decided"


@st.composite
def abstainers(draw):
    """Parameters of an abstainer, most of them sensible and some not at all."""
    how = {
        "shift": draw(st.sampled_from(SHIFTS)),
        "calibration": draw(st.sampled_from(["auto", "bcts", "identity", "isotonic", "vector"])),
        "scale": "logits",
        "random_state": draw(st.sampled_from([0, 1, None])),
        "decision": draw(st.sampled_from(["auto", "auto", "argmax", "optimal"])),
    }
    amount = draw(st.sampled_from(["budget", "budget", "budget", "target", "cost"]))
    how[amount] = draw(
        {
            "budget": st.sampled_from([0, 0.0, 0.05, 0.29, 0.5, 0.9, 0.999, 2, 3, 10**6, 1e-300]),
            "target": st.sampled_from([0.0, 0.5, 0.9, 0.999, 1.0, 1e300, -1.0]),
            "cost": st.builds(
                Cost,
                st.sampled_from([0, 0.1, 1, 1e-20, 1e20]),
                value_of_metric=st.none() | st.sampled_from([1e-20, 1.0, 1e20]),
            ),
        }[amount]
    )
    if amount != "cost" and draw(st.booleans()):
        how["score"] = draw(st.sampled_from([None, *SCORES]))
    if draw(st.integers(0, 5)) == 0:
        how[draw(st.sampled_from([*how, "level", "confidence", "prior_range"]))] = draw(anything())
    return draw(st.sampled_from(NAMES)), how


@fuzzed(
    "library", quick=12, share=4.0, asked=abstainers(), given=problems(rows=(4, 50)), at=seeds()
)
def test_abstainers(asked, given, at):
    """Extreme scores and weights, and any parameters: no NaN, and no budget exceeded."""
    (metric, how), (logits, y) = asked, given
    rng = np.random.default_rng(at)
    batch = logits[rng.integers(len(y), size=int(rng.integers(1, 40)))]
    batch = batch * rng.choice([1.0, 0.5, -1.0]) + 0.0
    each = [None, np.ones(len(batch)), rng.choice([1, 2, 1e-300, 1e300], len(batch)), None]
    weight = each[int(rng.integers(4))]
    if logits.shape[1] == 2:
        how = {"positive": 1, **how}

    def call():
        return (
            Abstainer(metric, **how)
            .fit(logits, y, classes=range(logits.shape[1]))
            .decide(batch, weight)
        )

    found = outcome(call, looked_at=lambda d: (d.proba, d.priors, d.abstain))
    if isinstance(found, Exception):
        return "refused"
    budget = how.get("budget")
    if budget is not None:
        counted = np.ones(len(batch)) if weight is None else found.sample_weight
        most = budget if isinstance(budget, int) else budget * counted.sum()
        if counted[found.abstain].sum() > most * (1 + 1e-9) + 1e-9 * counted.sum():
            raise Defect(f"{counted[found.abstain].sum()} withheld, of {most} allowed")
    repr(found)
    return "decided"


@fuzzed("library", quick=4, given=problems(), names=st.lists(st.sampled_from(NAMES), max_size=2))
def test_estimates(given, names):
    """An estimate of any metrics of any batch is in its interval, or not defined."""
    logits, y = given

    def call():
        return estimate(
            logits, y, logits[::-1], names, scale="logits", classes=range(logits.shape[1])
        )

    found = outcome(call, looked_at=lambda result: None)
    return "refused" if isinstance(found, Exception) else "decided"


def names_of_metrics():
    heads = st.sampled_from([*NAMES, "cost", "kappa", "fbeta", "top-k", "net-benefit", ""])
    numbers = st.sampled_from(["1e300", "-1", "nan", "inf", "0", "1e-300", "9" * 5000, "1_0"])
    matrices = st.sampled_from(["[" * 10_000, "[[0,1],[1]]", '{"a":1}', "[[1e400,0],[0,1]]", "[]"])
    ends = numbers | matrices | st.text(max_size=8) | st.sampled_from(["macro", "2:micro", "2:x"])
    joints = st.sampled_from(["", "=", ":", "@", "::", "=:", " "])
    made = st.builds(lambda *parts: "".join(parts), heads, joints, ends)
    # A file of costs that is not there is a FileNotFoundError, as of any file.
    return st.sampled_from(NAMES) | made.filter(lambda name: not name.startswith("cost"))


@fuzzed(
    "library",
    quick=60,
    examples=[{"name": name} for name in ("fbeta:1e300", "top-k=" + "9" * 5000)],
    name=names_of_metrics(),
)
def test_names_of_metrics(name):
    """A name is that of a metric, which has the same name, or is refused."""
    found = outcome(lambda: metrics.get(name))
    if isinstance(found, Exception):
        return "refused"
    again = metrics.get(found.name)
    assert again.name == found.name
    assert again.get_params() == found.get_params()
    return "decided"


@fuzzed("library", quick=20, name=st.sampled_from(NAMES), data=st.data())
def test_values_of_confusion_matrices(name, data):
    """Any counts have a value, or none; never one that is not a number by accident."""
    metric = metrics.get(name)
    if not isinstance(metric, metrics.BaseConfusionMetric):
        return "no counts"
    each = st.sampled_from([0.0, 1.0, 3.0, 0.25, 1e-12, 1e15])
    counts = np.array(data.draw(st.lists(each, min_size=4, max_size=4))).reshape(2, 2)
    outcome(lambda: (metric.value(counts), metric.gradient(counts)), looked_at=lambda r: r[1])
    return "decided"


@fuzzed("library", quick=15, given=problems(), name=st.sampled_from(SCORES[:4]))
def test_scores(given, name):
    """Every row has a score."""
    proba = as_proba(given[0])
    extra = {"priors": proba.mean(axis=0)} if name == "js-divergence" else {}
    found = outcome(lambda: scores.get(name)(proba, **extra))
    assert isinstance(found, Exception) or found.shape == (len(proba),)


@pytest.mark.parametrize("edge", EDGES)
def test_the_edges_of_the_numbers_are_scores(edge):
    """One extreme logit among ordinary ones leaves probabilities of all rows."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    logits = rng.normal(size=(30, 3)) + np.eye(3)[y]
    logits[4, 1] = edge
    for name in ("temperature", "vector", "bcts", "isotonic", "dirichlet", "auto"):
        fitted = calibration.get(name, scale="logits").fit(logits, y)
        assert np.isfinite(outcome(lambda fitted=fitted: fitted.predict_proba(logits))).all()
