"""The page in a real browser: what it shows is what Python computed, and it stays quiet.

Needs Playwright and a Chromium of the system; without either, every test here is skipped.
"""

import csv
import json

import pytest

from abstain.report._html import render


@pytest.fixture(scope="module")
def files(tmp_path_factory, report, four_classes):
    folder = tmp_path_factory.mktemp("pages")
    report.save(folder / "binary.html")
    four_classes.save(folder / "four.html")
    facts = json.loads(report.to_json())
    facts["assumption"]["doubts"] = ["Nothing <fits>. Label some rows.", "Two & more."]
    for step in facts["steps"]:
        step["alternatives"] = dict.fromkeys(step["alternatives"], (step["value"] or 0.0) + 1e-9)
    (folder / "doubtful.html").write_text(render(facts), encoding="utf-8")
    return folder


@pytest.fixture
def opened(browser, files):
    """Open a page; at the end it must have been quiet, on the console and on the network."""
    heard, contexts = [], []

    def open_page(name="binary", **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        address = (files / f"{name}.html").as_uri()
        page.on(
            "request",
            lambda request: (
                None
                if request.url == address or request.url.startswith(("data:", "blob:"))
                else heard.append(request.url)
            ),
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


def assert_shows(page, facts, number):
    """Check every figure that follows the slider against what Python computed."""
    step = facts["steps"][number]
    assert page.text_content("#answer") == step["headline"]
    assert page.text_content("#budget-text") == step["text"]["budget"]
    assert page.text_content("#card-withheld") == step["text"]["withheld"]
    assert page.text_content("#card-value") == step["text"]["value"]
    assert page.text_content("#card-interval") == f"90% interval {step['text']['interval']}"
    shown = [cell.replace(",", "") for cell in page.locator("#confusion td").all_text_contents()]
    assert [int(cell) for cell in shown] == [
        pytest.approx(count, abs=0.5001) for row in step["confusion"] for count in row
    ]
    best = page.locator("#alternatives tbody tr").all_text_contents()
    assert len(best) == 2 + len(step["alternatives"])
    listed = page.text_content("#shown")
    assert listed.endswith(f" of {step['withheld']:,}" if step["withheld"] else "No rows")
    for chart in ("curve", "histogram", "cost-curve", "proportions"):
        assert page.locator(f"#{chart} path, #{chart} rect").count() > 3
        assert page.get_attribute(f"#{chart}", "aria-label")


def test_it_opens_at_what_was_decided(opened, report):
    page = opened()
    assert page.title() == "Clinic <A> & B"
    assert_shows(page, report.facts, report.facts["chosen"])
    assert page.locator("#roc path.line").count() == 2


def test_the_slider_follows_the_keyboard(opened, report):
    page = opened()
    page.focus("#budget")
    page.keyboard.press("ArrowRight")
    assert_shows(page, report.facts, report.facts["chosen"] + 1)
    page.keyboard.press("Home")
    assert_shows(page, report.facts, 0)
    page.keyboard.press("End")
    assert_shows(page, report.facts, len(report.facts["steps"]) - 1)
    assert "cases referred" in page.get_attribute("#budget", "aria-valuetext")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert_shows(page, report.facts, report.facts["chosen"])


def test_of_alternatives_that_read_the_same_this_rule_is_the_best(opened):
    page = opened("doubtful")
    assert page.locator("#alternatives .best th").all_text_contents() == [
        "this rule, for this metric"
    ]


def test_the_slider_follows_the_mouse(opened, report):
    page = opened()
    box = page.locator("#budget").bounding_box()
    before = page.get_attribute("#curve path.guide", "d")
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    number = int(page.input_value("#budget"))
    assert number == pytest.approx(0.25 * (len(report.facts["steps"]) - 1), abs=1)
    assert_shows(page, report.facts, number)
    assert page.get_attribute("#curve path.guide", "d") != before


def test_groups_follow_the_slider(opened, report):
    page = opened()
    facts = report.facts
    page.focus("#budget")
    page.keyboard.press("End")
    rows = page.locator("#groups tbody tr").all()
    assert len(rows) == len(facts["groups"]["names"])
    for k, row in enumerate(rows):
        cells = row.locator("th, td").all_text_contents()
        assert cells[0] == facts["groups"]["names"][k]
        assert cells[2] == str(facts["steps"][-1]["groups"][k])


def test_the_cost_is_that_of_the_confusion_matrix(opened, report):
    page = opened()
    facts = report.facts
    page.get_by_label("a referral costs").fill("2")
    page.get_by_label("ill called well costs").fill("10")
    step = facts["steps"][facts["chosen"]]
    total = 2 * step["withheld"] + 10 * step["confusion"][1][0] + step["confusion"][0][1]
    assert float(page.text_content("#card-cost")) == pytest.approx(
        total / facts["rows"], abs=0.001
    )


def test_the_table_sorts_and_searches(opened, report):
    page = opened()
    column = "#cases tbody tr td:last-child"
    by_proba = page.get_by_role("button", name="p(ill)")
    by_proba.click()
    shown = [float(text) for text in page.locator(column).all_text_contents()]
    assert shown == sorted(shown)
    by_proba.click()
    again = [float(text) for text in page.locator(column).all_text_contents()]
    assert again == sorted(again, reverse=True)
    assert again[0] > shown[0]
    assert page.get_attribute("#cases th:last-child", "aria-sort") == "descending"
    page.get_by_label("Search", exact=True).fill("<SCRIPT>")
    assert page.locator("#cases tbody tr").count() == 1
    assert "<script>" in page.text_content("#cases tbody td")
    page.get_by_label("Search", exact=True).fill("no such patient")
    assert page.locator("#cases tbody tr").count() == 0
    assert page.locator("#download").is_disabled()
    page.get_by_label("Search", exact=True).fill("")
    assert page.text_content("#shown") == "Rows 1 to 15 of 225"


def test_the_csv_is_safe_to_open(opened, report, tmp_path):
    page = opened()
    with page.expect_download() as started:
        page.click("#download")
    started.value.save_as(tmp_path / "referred.csv")
    with open(tmp_path / "referred.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["patient", "hospital", "prediction", "p(well)", "p(ill)"]
    assert len(rows) == 225
    ids = {row[0] for row in rows}
    for formula in ("=1+1", "+SUM(A1)", "-cmd|' /C calc'!A0", "@now", "\tTab"):
        assert formula not in ids
        assert f"'{formula}" in ids
    for plain in ("-5", 'say "hi", twice', "</script><img src=x onerror=alert(1)>"):
        assert plain in ids
    assert all(0 <= float(row[4]) <= 1 for row in rows)


def test_hostile_text_stays_text(opened):
    page = opened()
    page.click("#page-next")
    assert page.title() == "Clinic <A> & B"
    assert page.locator("main img").count() == 0
    assert page.locator("script").count() == 2
    assert "<b>South</b>" in page.text_content("#groups")


def test_many_classes(opened, four_classes):
    page = opened("four")
    facts = four_classes.facts
    assert_shows(page, facts, facts["chosen"])
    assert page.locator("#roc-figure").is_hidden()
    page.focus("#budget")
    page.keyboard.press("ArrowLeft")
    assert_shows(page, facts, facts["chosen"] - 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_and_text_has_contrast(opened, width, scheme):
    page = opened("doubtful", viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    ratio = page.evaluate(
        """(selectors) => {
          const light = (text) => {
            const [r, g, b] = text.match(/[\\d.]+/g).map((v) => v / 255)
              .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          return Math.min(...selectors.map(([selector, ground]) => {
            const ink = light(getComputedStyle(document.querySelector(selector)).color);
            const paper = light(getComputedStyle(document.querySelector(ground)).backgroundColor);
            return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
          }));
        }""",
        [
            ["body", "body"],
            [".muted", "body"],
            ["#budget-text", ".slider"],
            ["a[href]", "body"],
            [".notice li", ".notice"],
        ],
    )
    assert ratio >= 4.5


def test_doubts_are_read_before_the_slider(opened, report):
    page = opened("doubtful")
    notice = page.get_by_role("region", name="What speaks against these figures")
    assert notice.get_by_role("listitem").all_text_contents() == [
        "Nothing <fits>. Label some rows.",
        "Two & more.",
    ]
    assert notice.bounding_box()["y"] < page.locator("#budget").bounding_box()["y"]
    rule = report.facts["steps"][report.facts["chosen"]]["rule"]
    assert f"For the rest, the rule {rule}." in page.text_content("#region")
    assert page.text_content("#confusion-note") == f"The rule {rule}."


def test_it_prints(opened):
    page = opened()
    page.emulate_media(media="print")
    assert page.locator("#budget").is_hidden()
    assert page.locator("#download").is_hidden()
    assert page.locator("#answer").is_visible()
    assert page.get_by_label("a referral costs").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
