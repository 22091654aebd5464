"""The page of dedup_report, option review, as people use it in Chromium. Usage: review_page.py PAGE DIRECTORY.

Prints what was seen beside what is right, a line each: NAME, SEEN, EXPECTED, with tabs between. Writes the answers as the page hands
them out to DIRECTORY: decisions.sql and decisions.csv, and expected.csv as this program gave them.
"""

import csv
import io
import pathlib
import random
import re
import sys
from urllib.parse import unquote

from playwright.sync_api import sync_playwright

page_file, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
KEYS = {"s": "true", "n": "false", "k": None}


def tell(name, seen, expected):
    print(name, seen, expected, sep="\t", flush=True)


def progress(page):
    return [int(number) for number in re.findall(r"\d+", page.locator("#answer span").inner_text())]


def saved(page, end):
    with page.expect_download() as download:
        page.locator(f"#answers a[download$='{end}']").click()
    path = directory / f"decisions{end}"
    download.value.save_as(path)
    return path.read_bytes().decode()


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page, wrong, asked = context.new_page(), [], []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    pair = page.locator("#pair article")
    ids = lambda: tuple(unquote(pair.get_attribute(f"data-{side}")) for side in "ab")
    total = sum(progress(page))
    tell("one pair is shown", pair.count(), 1)
    tell("nothing is answered yet", progress(page), [0, 0, total])
    tell("there is no way back from the first pair", page.locator("[data-key=b]").is_disabled(), True)

    # Every button and every key, and the way back.
    answers, seen = {}, []
    for how in ("click", "press"):
        for key in KEYS:
            seen.append(ids())
            answers[ids()] = KEYS[key]
            page.locator(f"#answer [data-key={key}]").click() if how == "click" else page.keyboard.press(key)
    tell("each answer leads to another pair", len({*seen, ids()}), 7)
    page.keyboard.press("Backspace")
    tell("Backspace leads back", ids(), seen[-1])
    page.locator("[data-key=b]").click()
    tell("and the button", ids(), seen[-2])
    tell("where the answer is seen", page.locator("[data-key=n]").get_attribute("aria-pressed"), "true")
    page.keyboard.press("S")
    answers[seen[-2]] = "true"
    tell("another answer replaces it", progress(page), [4, 2, total - 6])
    page.keyboard.press("Control+s")
    tell("Ctrl+S is no answer", progress(page), [4, 2, total - 6])
    if page.locator("#search").count():
        page.locator("#search").focus()
        page.keyboard.type("snkb")
        tell("nor is what is searched for", progress(page), [4, 2, total - 6])
        page.locator("#search").fill("")
        page.locator("h1").click()

    # A key that is held down is one answer.
    answers[ids()] = "true"
    for _ in range(5):
        page.keyboard.down("s")
    page.keyboard.up("s")
    tell("a key that is held down is one answer", progress(page), [5, 1, total - 6])
    page.keyboard.press("b")
    answers[ids()] = None
    page.keyboard.press("k")

    page.reload()
    tell("answers are kept across a reload", progress(page), [4, 2, total - 6])
    tell("which goes on with the first open pair", ids() in answers, False)

    # Another window with the same page.
    other = context.new_page()
    other.goto(page_file.as_uri())
    other.keyboard.press("s")
    other.keyboard.press("s")
    other.close()
    answers[ids()] = "false"
    page.keyboard.press("n")
    tell("answers of another window are not lost", progress(page), [6, 2, total - 8])

    # All the others, as chance has it.
    chance = random.Random(7)
    while pair.count():
        key = chance.choice("ssnnk")
        answers[ids()] = KEYS[key]
        page.keyboard.press(key)
    decided = {ids: same for ids, same in answers.items() if same}
    tell("all pairs were asked about", len(answers), total)
    tell("nothing is left", progress(page), [len(decided), total - len(decided), 0])
    page.locator("#answers summary").click()
    # It is written when the browser says that it is open, which may be later.
    page.wait_for_function("document.querySelector('#answers textarea').value")
    shown = page.locator("#answers textarea").input_value()
    tell("the SQL that is shown is the one that is saved", saved(page, ".sql") == shown, True)
    with (directory / "expected.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([(a, b, same[0]) for (a, b), same in decided.items()])
    rows = list(csv.reader(io.StringIO(saved(page, ".csv"), newline="")))
    tell("the CSV has the answers", dict(((a, b), same) for a, b, same in rows[1:]) == decided, True)

    page.set_viewport_size({"width": 360, "height": 640})
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    tell("a narrow screen does not scroll sideways", wide, 0)
    tell("nothing is asked of the net", [url for url in asked if not url.startswith(("file:", "blob:"))], [])
    tell("nothing is wrong", wrong, [])
    browser.close()
