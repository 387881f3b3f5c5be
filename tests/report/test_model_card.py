"""The section of a model card: its figures are the page's, and names in it are text."""

import re


def test_its_figures_are_those_of_the_page(report):
    card, facts = report.model_card(), report.facts
    chosen = facts["steps"][facts["chosen"]]
    assert facts["metric"]["title"] in card
    for one in (facts["before"], chosen, facts["operating_point"]["npv"]["after"]):
        assert f"{one['value']:.4f} (90% interval {one['interval'][0]:.4f} to" in card
    assert chosen["headline"].split(".")[0] in card
    assert facts["assumption"]["summary"] in card
    assert "What a person answers about the others is not in them" in card


def test_its_tables_are_whole(report):
    for table in re.findall(r"(?:^\|.*\n)+", report.model_card(), re.M):
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(bars) == 1


def test_more_than_two_classes_and_no_labels(four_classes):
    card = four_classes.model_card()
    assert "of its predictions" not in card
    assert card.count("\n| class ") == 4


def test_names_are_text(binary):
    from abstain.report import Report

    command = "abstain report '<script>' `x` [a](b) | c"
    card = Report(binary, command=command).model_card()
    assert r"\<script\>' \`x\` \[a\](b) \| c" in card
