"""Help with its options under headings, so that a long list can be read."""

from __future__ import annotations

import click

_SECTIONS = {
    "What to decide": "metric metrics budget budgets target cost errors value_of_metric "
    "confidence prior_range at_most drop_certificate methods repeats",
    "Columns": "scores label target_label labels prediction positive identifier group groups "
    "known_labels",
    "Reading files": "scale percent separator decimal encoding sheets missing validation",
    "Method": "calibration shift estimator decision score level random_state",
    "Output": "out policy report title force strict as_json help",
}
# Fewer options are read as quickly without headings.
_MANY = 12


class Grouped(click.Command):
    """A command whose help lists its options by what they are about."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings; those that have none come last."""
        options = [one for one in self.get_params(context) if isinstance(one, click.Option)]
        if len(options) < _MANY:
            super().format_options(context, formatter)
            return
        place = {name: title for title, names in _SECTIONS.items() for name in names.split()}
        for title in (*_SECTIONS, "Other options"):
            of_it = [one for one in options if place.get(one.name or "", "Other options") == title]
            records = [record for one in of_it if (record := one.get_help_record(context))]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
