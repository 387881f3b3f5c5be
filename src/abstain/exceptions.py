"""The errors and warnings that are outcomes rather than wrong input.

Wrong input raises ``ValueError`` or ``TypeError``; an optional package that is missing raises
``ImportError``. What the data themselves do not allow is under ``AbstainError``::

    AbstainError
    ├── NotIdentifiable      the class proportions cannot be told from these scores
    ├── PolicyError          a policy file is cut, edited, or of an unknown schema
    └── TargetUnreachable    no abstention reaches the target

    AssumptionWarning        the data contradict what the method rests on; the evidence is given
    RepairWarning            input was repaired (clipped, dropped); the message has the count
"""

__all__ = [
    "AbstainError",
    "AssumptionWarning",
    "NotIdentifiable",
    "PolicyError",
    "RepairWarning",
    "TargetUnreachable",
]


class AbstainError(Exception):
    """Base of the errors that say what the data do not allow."""


class NotIdentifiable(AbstainError):  # noqa: N818 - named for the outcome
    """The class proportions cannot be told apart from these scores.

    Attributes
    ----------
    columns : tuple of int
        The columns of the classes in question.
    """

    def __init__(self, message: str, columns: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class PolicyError(AbstainError):
    """A policy file cannot be trusted or understood."""


class TargetUnreachable(AbstainError):  # noqa: N818 - named for the outcome
    """No abstention, however large, reaches the target."""


class AssumptionWarning(UserWarning):
    """The data contradict an assumption that the results rest on."""


class RepairWarning(UserWarning):
    """Input was repaired in a way its owner should know about."""
