import html
import json
import re

import pytest

from abstain.report import Report
from abstain.report._cases import pack
from abstain.report._html import render
from abstain.report._trust import verdict_on_intervals


def test_the_page_is_one_file_without_addresses(report, four_classes):
    for page in (report.to_html(), four_classes.to_html()):
        markup = page.replace("http://www.w3.org/2000/svg", "")
        assert "http" not in re.sub(r"http-equiv", "", markup)
        assert not re.search(r"<(link|script|img|iframe)[^>]+(src|href)=(?!\"data:,\")", markup)


def test_text_of_the_user_stays_text(report):
    page = report.to_html()
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "Clinic &lt;A&gt; &amp; B" in page
    embedded = re.search(r'id="facts">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(embedded) == pack(report.facts)
    assert "{{facts}} {{title}}" in json.loads(embedded)["cases"]["ids"]


def test_the_answer_needs_no_script(report):
    page = report.to_html()
    assert f'aria-live="polite">{html.escape(report.headline)}</h1>' in page
    assert "{{" not in page.split('id="facts">')[0]


def test_a_notebook_shows_it_in_a_frame(report):
    shown = report._repr_html_()
    assert shown.startswith('<iframe title="Clinic &lt;A&gt; &amp; B" srcdoc="&lt;!DOCTYPE')
    assert shown.count('"') == 6
    assert repr(report).startswith("<Report on <Decisions: 225 of 1500 rows")


def test_save_writes_whole_or_not_at_all(report, tmp_path, monkeypatch):
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.to_html()
    monkeypatch.setattr(Report, "to_html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.save(tmp_path / "other.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_doubtful_assumptions_and_narrow_intervals_are_said(report):
    facts = json.loads(report.to_json())
    facts["moved"]["verdict"] = {"state": "doubtful", "summary": "It does not fit."}
    facts["assumption"]["doubts"] = ["Class <b> seems to fill the whole batch."]
    facts["trust"]["back_test"].update(inside=3, too_few=True)
    facts["trust"]["verdict"] = verdict_on_intervals(facts["trust"])
    facts["trust"]["certificate"] = "90% confidence: sensitivity 0.8"
    page = render(facts)
    assert "What the figure rests on: doubtful.</strong> It does not fit." in page
    assert "Intervals: doubtful.</strong> 3 of 12" in page
    assert "<li>Class &lt;b&gt; seems to fill the whole batch.</li>" in page
    assert "3 of 12 intervals held the realised value, where 90% are meant to. That is" in page
    assert "too narrow for these data" in page.split("<main>")[0]
    assert "Certificate: 90% confidence" in page
    facts["trust"]["back_test"]["too_few"] = False
    facts["trust"]["verdict"] = verdict_on_intervals(facts["trust"])
    assert "too narrow for these data" not in render(facts)
