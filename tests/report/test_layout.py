"""Pages of many classes, long names and small screens: nothing overlaps, and they stay short."""

import io

import pytest

from abstain.report._html import render

from .many_classes import long_names, with_classes

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
# Every text of a chart, as boxes on the screen; and pairs of them that share more than an edge.
OVERLAPS = """() => {
  const found = [];
  for (const root of document.querySelectorAll("figure > svg")) {
    const place = root.getBoundingClientRect();
    if (!place.width) continue;
    const boxes = [...root.querySelectorAll("text")].filter((t) => t.textContent)
      .map((t) => [t.textContent, t.getBoundingClientRect()]);
    boxes.forEach(([text, a], i) => {
      if (a.left < place.left - 1 || a.right > place.right + 1 || a.top < place.top - 1 ||
          a.bottom > place.bottom + 1) found.push([root.id, text, "sticks out"]);
      for (const [other, b] of boxes.slice(i + 1)) {
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2) {
          found.push([root.id, text, other]);
        }
      }
    });
  }
  return found;
}"""

# Whether a box moves sideways within five seconds. Playwright's own waiting calls eval, which the
# page forbids: it passes when the box has moved at the first look, and fails at the second.
SCROLLED = """(box) => new Promise((done) => {
  setTimeout(() => done(false), 5000);
  const look = () => (box.scrollLeft > 0 ? done(true) : requestAnimationFrame(look));
  look();
})"""


@pytest.fixture
def opened(browser, tmp_path):
    contexts = []

    def open_page(facts, **options):
        (tmp_path / "page.html").write_text(render(facts), encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def _heads_in(pdf):
    """Return on how many pages of a PDF the table of cases has its head."""
    pypdf = pytest.importorskip("pypdf", reason="what is on a page of a PDF is read with pypdf")
    return sum(
        "probability of the prediction" in " ".join(page.extract_text().split())
        for page in pypdf.PdfReader(io.BytesIO(pdf)).pages
    )


def at(size):
    width, height = SIZES[size]
    return {"viewport": {"width": width, "height": height}}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "k", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (5, 10, 30)), 100]
)
def test_labels_never_overlap(opened, facts, k, size):
    page = opened(with_classes(facts, k), **at(size))
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    if k > 10:
        page.get_by_role("button", name=f"Show all {k} classes").first.click()
        assert page.locator("#proportions text.name").count() == k
        assert page.evaluate(OVERLAPS) == []


def test_a_hundred_classes_are_small_and_short(opened, facts):
    facts = with_classes(facts, 100, n_cases=5_000)
    assert len(render(facts).encode()) < 1_000_000
    page = opened(facts, **at("desktop"))
    assert page.evaluate("document.documentElement.scrollHeight") <= 6.5 * 900


def test_the_largest_confusions_come_first(opened, facts):
    facts = with_classes(facts, 30)
    page = opened(facts)
    pairs = facts["steps"][facts["chosen"]]["mistakes"]["pairs"]
    i, j, count = pairs[0]
    names = long_names(30)
    first = page.locator("#confusion tbody tr").first.locator("th, td").all_text_contents()
    assert first == [names[i], names[j], f"{count:.1f}"]
    counts = [pair[2] for pair in pairs]
    assert counts == sorted(counts, reverse=True)
    assert page.locator("#confusion tbody tr:visible").count() == 7
    page.get_by_role("button", name="Show all 100 confusions").click()
    assert page.locator("#confusion tbody tr:visible").count() == 100
    assert page.locator("#confusion-more").text_content().startswith("Show fewer")
    # The slider leaves open what was opened.
    page.focus("#budget")
    page.keyboard.press("ArrowRight")
    assert page.locator("#confusion tbody tr:visible").count() == 100


def test_shares_are_sorted_by_what_moved_and_cut(opened, facts):
    facts = with_classes(facts, 30)
    page = opened(facts)
    shares = page.locator("#shares tbody tr")
    assert shares.count() == 30
    assert page.locator("#shares tbody tr:visible").count() == 7
    moved = facts["moved"]
    order = sorted(range(30), key=lambda k: -abs(moved["target"][k] - moved["validation"][k]))
    assert shares.first.locator("th").text_content() == moved["classes"][order[0]]
    name = page.locator("#proportions text.name").first
    assert name.locator("title").text_content() == moved["classes"][order[0]]


def test_a_wide_table_scrolls_says_so_and_takes_the_focus(opened, facts):
    page = opened(with_classes(facts, 10), **at("phone"))
    box = page.locator(".scroll:has(#confusion)")
    assert box.get_attribute("tabindex") == "0"
    assert "scrolls sideways" in box.get_attribute("aria-label")
    assert page.locator("#confusion-box .hint").is_visible()
    box.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert box.evaluate(SCROLLED)
    # One that fits has neither.
    narrow = page.locator(".scroll:has(#alternatives)")
    assert narrow.get_attribute("tabindex") is None


def test_few_classes_have_the_whole_matrix_and_no_buttons(opened, facts):
    page = opened(with_classes(facts, 5), **at("desktop"))
    assert page.locator("#confusion td").count() == 25
    assert page.locator(".more button:visible").count() == 0


def test_cost_of_many_classes_follows_what_an_error_costs(opened, facts):
    facts = with_classes(facts, 30)
    page = opened(facts)
    page.get_by_label("a wrong class costs").fill("3")
    page.get_by_label("a referral costs").fill("2")
    step = facts["steps"][facts["chosen"]]
    cost = 2 * step["rate"] + 3 * step["error_cost"] / facts["weight"]
    assert float(page.text_content("#card-cost")) == pytest.approx(cost, abs=0.001)


def test_referred_is_one_colour_in_every_chart(opened, facts):
    page = opened(facts)
    marks = page.evaluate(
        """() => [...document.querySelectorAll("figure > svg, .legend svg")].flatMap((root) =>
          [...root.querySelectorAll("[class]")].map((mark) => [
            root.id || root.parentNode.textContent, mark.getAttribute("class").split(" "),
            getComputedStyle(mark).stroke, getComputedStyle(mark).fill]))"""
    )
    meaning = {"before", "after", "withheld", "validation", "other", "missed"}
    allowed = {
        "curve": {"after", "other"},
        "roc": {"before", "after"},
        "histogram": {"before", "withheld", "after"},
        "cost-curve": {"after"},
        "proportions": {"validation", "before", "after"},
        "reliability": {"validation"},
        "back-test": {"validation", "missed"},
        "referred": {"withheld"},
        "not referred": {"after"},
        "now, not referred": {"after"},
        "all cases": {"before"},
        "now": {"before"},
        "validation": {"validation"},
        "this rule": {"after"},
        "max-probability": {"other"},
        "js-divergence": {"other"},
        "random": {"other"},
        "the budget": set(),
        "the interval held": {"validation"},
        "it did not": {"missed"},
    }
    seen, orange = set(), None
    for where, kinds, _, fill in marks:
        said = meaning & set(kinds)
        assert said <= allowed[where], (where, kinds)
        seen.add(where)
        if "withheld" in said:
            orange = fill if "bar" in kinds else orange
    # No mark of another meaning has the colour of what is referred.
    assert orange is not None
    for _, kinds, stroke, fill in marks:
        if "withheld" not in kinds:
            assert orange not in (stroke, fill), kinds
    assert set(allowed) <= seen
    border = page.evaluate(
        "getComputedStyle(document.querySelector('.cards .withheld')).borderTopColor"
    )
    assert border == orange


def test_the_axes_and_the_header_name_the_positive_class(opened, facts):
    facts["positive"] = "ill"
    page = opened(facts)
    assert "Positive class: ill (the other is well)." in page.text_content("header")
    assert "p(ill)" in page.locator("#histogram text").all_text_contents()
    assert "p(ill)" in page.locator("#reliability text").all_text_contents()
    assert "sensitivity for ill" in page.locator("#roc text").all_text_contents()


def test_intervals_that_are_too_narrow_are_said_in_the_headline(opened, clinic, binary):
    from abstain.report import Report, _trust

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_trust, "UNLIKELY", 1.1)
        patch.setattr(_trust, "N_SHIFTS", 2)
        labels = [("well", "ill")[code] for code in clinic.y_val]
        report = Report(binary, scores_val=clinic.scores_val, y_val=labels)
        facts = report.facts
    assert "; the back-test says this is too narrow)" in report.headline
    page = opened(facts)
    assert "the back-test says this is too narrow" in page.text_content("#answer")
    assert page.text_content("#card-interval").endswith("(too narrow)")
    notice = page.get_by_role("region", name="What speaks against these figures")
    assert "Intervals are too narrow" in notice.text_content()
    assert "Intervals: doubtful." in page.text_content("main")


def test_three_verdicts_have_words_and_colours_of_their_own(opened, facts):
    colours = set()
    for state in ("plausible", "doubtful", "not checked"):
        facts["moved"]["verdict"] = {"state": state, "summary": "Said."}
        verdict = opened(facts).locator(".verdict").first
        said = verdict.text_content().split(" ", 1)[1]
        assert said == f"What the figure rests on: {state}. Said."
        colours.add(verdict.locator("strong").evaluate("(e) => getComputedStyle(e).color"))
    assert len(colours) == 3


def test_a_long_table_prints_with_its_head_on_every_page_and_nothing_cut_off(opened, facts):
    facts = with_classes(facts, 12, n_cases=2_000)
    page = opened(facts, **at("desktop"))
    page.get_by_label("a referral costs").fill("7.5")
    page.emulate_media(media="print")
    # As wide as a sheet of A4 between its margins.
    page.set_viewport_size({"width": 688, "height": 900})
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.scrollWidth") == 688
    assert page.locator("#cases tbody tr").count() == 100
    assert page.text_content("#shown").startswith("Rows 1 to 100 of ")
    shown = page.evaluate(
        """() => { const of = (what, property) => [...document.querySelectorAll(what)]
            .map((element) => getComputedStyle(element)[property]);
          return [...of("thead", "display"), ...of(".scroll", "overflowX")]; }"""
    )
    assert set(shown) == {"table-header-group", "visible"}
    assert page.get_by_label("a referral costs").is_visible()
    assert page.get_by_label("a referral costs").input_value() == "7.5"
    # Of buttons only the heads of columns are left.
    buttons, heads = (
        page.locator(f"main {what}:visible").count() for what in ("button", "th button")
    )
    assert buttons == heads > 0
    head_again = _heads_in(page.pdf(format="A4"))
    assert head_again >= 3
