"""Newton's method: between bounds, to its end, and out of trouble."""

import numpy as np

from abstain._numerics import Local, minimise, minimise_by_products


def test_minimise_stays_between_bounds():
    # |x - (2, -1)|^2 over [0, 1]^2 is least at (1, 0).
    target = np.array([2.0, -1.0])
    found = minimise(
        lambda x: (float((x - target) @ (x - target)), 2 * (x - target), 2 * np.eye(2)),
        np.array([0.5, 0.5]),
        lower=0.0,
        upper=1.0,
    )
    assert found.converged
    np.testing.assert_allclose(found.x, [1, 0], atol=1e-12)


def test_minimise_tells_when_it_ran_out_of_steps():
    found = minimise(
        lambda x: (float(np.cosh(x[0])), np.sinh(x), np.cosh(x)[:, None]),
        np.array([20.0]),
        max_iter=3,
    )
    assert not found.converged
    assert found.n_iter == 3


def test_bounds_hold_as_by_the_dense_method():
    rng = np.random.default_rng(0)
    for _ in range(50):
        half, aim = rng.normal(size=(8, 6)), 2 * rng.normal(size=6)
        hessian = half.T @ half / 8 + 0.01 * np.eye(6)

        def quadratic(x, hessian=hessian, aim=aim):
            return 0.5 * x @ hessian @ x - aim @ x, hessian @ x - aim, hessian

        def local(x, hessian=hessian, quadratic=quadratic):
            value, gradient, _ = quadratic(x)
            diagonal = np.diag(hessian)
            return Local(
                value,
                gradient,
                lambda v: hessian @ v,
                lambda v, damping: v / (diagonal + damping),
                float(diagonal.max()),
            )

        dense = minimise(quadratic, np.zeros(6), lower=-1.0, upper=2.0)
        sparse = minimise_by_products(local, np.zeros(6), lower=-1.0, upper=2.0)
        assert sparse.converged
        np.testing.assert_allclose(sparse.x, dense.x, atol=1e-6)


def test_a_step_that_does_not_descend_is_no_convergence():
    """The curvature is lost, and the step is one along which nothing falls."""

    def objective(x):
        return 1.0, np.array([1.0, -1.0]), np.full((2, 2), 1e-30)

    found = minimise(objective, np.zeros(2), lower=-1e-15, upper=1e-15, max_iter=5)
    assert np.isfinite(found.x).all()


def test_an_objective_that_is_not_a_number_is_left():
    def objective(x):
        return (0.0 if x[0] < 0.5 else np.nan), np.array([-1.0]), np.array([[1.0]])

    found = minimise(objective, np.zeros(1))
    assert np.isfinite(found.x).all()
    found = minimise(lambda x: (np.inf, np.full(1, np.nan), np.full((1, 1), np.nan)), np.zeros(1))
    assert not found.converged
    assert found.x == 0


def test_a_step_uphill_is_no_convergence(monkeypatch):
    # Where the curvature is lost in rounding the step may point anywhere.
    uphill = lambda self, x, here, damping: 100 * here.gradient  # noqa: E731
    monkeypatch.setattr("abstain._numerics._newton._ByHessian.step", uphill)
    found = minimise(lambda x: (float(x @ x), 2 * x, 2 * np.eye(2)), np.ones(2))
    assert not found.converged
    assert found.x.tolist() == [1.0, 1.0]
