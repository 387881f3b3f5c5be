"""The door: every check on what users hand in, and every conversion of it, happens here.

Behind it arrays are plain (two-dimensional, float64, classes as column numbers) and nothing is
checked again.
"""

from __future__ import annotations

from abstain._inputs._checks import FIT_LOGITS as FIT_LOGITS
from abstain._inputs._checks import ROW_SUM_TOLERANCE as ROW_SUM_TOLERANCE
from abstain._inputs._checks import WIDEST_LOGIT as WIDEST_LOGIT
from abstain._inputs._checks import CheckedScores as CheckedScores
from abstain._inputs._checks import FloatArray as FloatArray
from abstain._inputs._checks import IntArray as IntArray
from abstain._inputs._checks import Mask as Mask
from abstain._inputs._checks import Scale as Scale
from abstain._inputs._checks import as_proba as as_proba
from abstain._inputs._checks import both_columns as both_columns
from abstain._inputs._checks import check_in_reach as check_in_reach
from abstain._inputs._checks import check_penalties as check_penalties
from abstain._inputs._checks import check_priors as check_priors
from abstain._inputs._checks import check_proba as check_proba
from abstain._inputs._checks import check_same_length as check_same_length
from abstain._inputs._checks import check_sample_weight as check_sample_weight
from abstain._inputs._checks import check_scores as check_scores
from abstain._inputs._checks import float_array as float_array
from abstain._inputs._checks import one_column as one_column
from abstain._inputs._checks import rows_of as rows_of
from abstain._inputs._checks import two_logits as two_logits
from abstain._inputs._frames import Scores as Scores
from abstain._inputs._frames import as_array as as_array
from abstain._inputs._frames import on_device as on_device
from abstain._inputs._frames import one_row as one_row
from abstain._inputs._frames import to_native_frame as to_native_frame
from abstain._inputs._labels import check_classes as check_classes
from abstain._inputs._labels import check_labels as check_labels
from abstain._inputs._labels import codes_of as codes_of
from abstain._inputs._labels import column_labels as column_labels
from abstain._inputs._labels import distinct_labels as distinct_labels
from abstain._inputs._labels import gaps_in as gaps_in
from abstain._inputs._labels import label_array as label_array
from abstain._inputs._labels import raw_labels as raw_labels
from abstain._inputs._labels import told_positive as told_positive
from abstain._inputs._numbers import MOST_DRAWS as MOST_DRAWS
from abstain._inputs._numbers import MOST_SAMPLES as MOST_SAMPLES
from abstain._inputs._numbers import check_budget as check_budget
from abstain._inputs._numbers import check_capacity as check_capacity
from abstain._inputs._numbers import check_count as check_count
from abstain._inputs._numbers import check_fraction as check_fraction
from abstain._inputs._numbers import check_generator as check_generator
from abstain._inputs._numbers import check_level as check_level
from abstain._inputs._numbers import check_number as check_number
from abstain._inputs._numbers import check_seed as check_seed
from abstain._inputs._numbers import check_whole as check_whole
from abstain._inputs._numbers import from_percent as from_percent
from abstain._inputs._numbers import is_whole as is_whole
from abstain._inputs._numbers import number as number
from abstain._inputs._numbers import read_fraction as read_fraction
from abstain._inputs._numbers import shown as shown
from abstain._inputs._numbers import whole_rows as whole_rows
from abstain._inputs._order import ClassOrder as ClassOrder
from abstain._inputs._order import LabelledScores as LabelledScores
from abstain._inputs._order import read_labelled as read_labelled
from abstain._inputs._order import read_labelled_proba as read_labelled_proba
from abstain._inputs._order import read_scores as read_scores
from abstain._inputs._order import spelled as spelled
from abstain._inputs._roles import Missing as Missing
from abstain._inputs._roles import RowRoles as RowRoles
from abstain._inputs._roles import known_codes as known_codes
from abstain._inputs._roles import row_roles as row_roles
from abstain._inputs._row_names import group_codes as group_codes
from abstain._inputs._row_names import group_names as group_names
from abstain._inputs._row_names import n_entries as n_entries
from abstain._inputs._row_names import row_names as row_names
from abstain._inputs._times import check_time as check_time
from abstain._inputs._times import seconds_of as seconds_of
