"""Take the pictures of the report for the front page and the README, in a real browser.

Run ``python docs/picture_of_the_report.py`` after the report's looks have changed. It needs
playwright and a chromium; the still and the moving picture are kept in the tree.
"""

import io
import shutil
from pathlib import Path

import live_report
from PIL import Image
from playwright.sync_api import Page, sync_playwright

STATIC = Path(__file__).parent / "_static"
WIDTH, HEIGHT, SMALLER = 1_100, 955, 0.7
#: Every so many positions of the slider make a frame, shown so many milliseconds.
STRIDE, SHOWN, HELD = 4, 400, 1_800


def main() -> None:
    """Write both pictures."""
    live_report.write()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(live_report.PAGE.as_uri())
        slider = page.locator("#budget")
        decided, last = (int(slider.evaluate(f"one => one.{name}")) for name in ("value", "max"))
        up, down = [*range(decided, last, STRIDE), last], [*range(decided, 0, -STRIDE), 0]
        way = [*up, *up[-2:0:-1], *down, *down[-2:0:-1]]
        frames = {position: _at(page, position) for position in sorted(set(way))}
    frames[decided].quantize(256).save(STATIC / "report.png", optimize=True)
    first, *others = (
        frames[position].resize((int(WIDTH * SMALLER), int(HEIGHT * SMALLER))) for position in way
    )
    first.save(
        STATIC / "report.webp", save_all=True, append_images=others, loop=0, quality=50, method=6,
        duration=[HELD if position in (0, decided, last) else SHOWN for position in way],
    )  # fmt: skip


def _at(page: Page, position: int) -> Image.Image:
    slider = page.locator("#budget")
    slider.evaluate("(one, position) => one.value = position", position)
    slider.dispatch_event("input")
    page.wait_for_timeout(300)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


if __name__ == "__main__":
    main()
