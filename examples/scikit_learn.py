"""scikit-learn: tune a classifier for what it does after abstaining, then let it abstain.

Run it with: python examples/scikit_learn.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abstain import AbstainingClassifier
from abstain.classifier import abstention_scorer


def main():
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    # Choose the model that is best once the tenth of the cases that it should not decide is gone.
    model = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(
        model,
        {"logisticregression__C": [0.001, 0.01, 0.1, 1.0]},
        scoring=abstention_scorer("accuracy", 0.1),
    ).fit(X_train, y_train)
    print("best after abstaining:", search.best_params_)

    # Cross-fitted calibration, and a rule for the metric: all in one estimator.
    classifier = AbstainingClassifier(
        search.best_estimator_, "accuracy", budget=0.1, random_state=0
    ).fit(X_train, y_train)

    # A new batch, unlabelled: its class proportions are estimated, the rule follows.
    classifier.adapt(X_test)
    decisions = classifier.decide(X_test)
    kept = ~decisions.abstain
    print(f"to a person: {decisions.abstain.sum()} of {len(decisions)}")
    print(f"accuracy expected of the rest: {decisions.estimate.after}")
    print(f"accuracy of all:  {accuracy_score(y_test, decisions.prediction):.3f}")
    print(f"accuracy of kept: {accuracy_score(y_test[kept], decisions.prediction[kept]):.3f}")


if __name__ == "__main__":
    main()
