"""The page in a real browser against a real gateway: it hears, it stops, it says what was heard."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from engine.fake import FakeEngine, FakeEngineConfig
from gateway.server.serving import RunningGateway
from tests.gateway.shell import gateway

CHROMIUM = next(
    (p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None, reason="needs Chromium: apt-get install chromium (Debian)"
    ),
    pytest.mark.asyncio(loop_scope="module"),  # one browser for all
]
WAIT_MS = 30_000  # only a failure takes so long
expect.set_options(timeout=WAIT_MS)

SAMPLES = "window.voiceGateway.utterance?.decodedSamples ?? 0"
PEAK = "window.voiceGateway.utterance?.peak ?? 0"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Started once: that takes longer than any of the tests."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


@contextlib.asynccontextmanager
async def page_of(browser: Browser, served: RunningGateway) -> AsyncIterator[Page]:
    """The gateway's page, as if in a fresh browser; fails the test on any error of its own."""
    problems: list[str] = []
    context = await browser.new_context(viewport={"width": 900, "height": 820})
    try:
        page = await context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None
        )
        await page.goto(served.url)
        yield page
    finally:
        await context.close()
    assert problems == []


async def test_speaks_to_the_end(browser: Browser) -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, page_of(browser, served) as page:
        await expect(page.locator("#status")).to_have_attribute("data-state", "ready")
        await page.fill("#text", "Hello.")
        await page.click("#speak")
        await expect(page.locator("#outcome")).to_have_text("Heard to the end.")
        made_samples = engine._frames_total * 2048 * 48_000 / 44_100
        assert await page.evaluate(SAMPLES) == pytest.approx(made_samples, abs=2)
        assert await page.evaluate(PEAK) > 0.2
        assert await page.inner_text("#heard") == "Hello."
        assert await page.inner_text("#underruns") == "0"
        first_ms = int((await page.inner_text("#first-packet")).removesuffix(" ms"))
        assert first_ms > 0


async def test_interrupt_is_silent_and_says_what_was_heard(browser: Browser) -> None:
    engine = FakeEngine(FakeEngineConfig(frame_delay_s=0.005))
    text = "One two three four five six seven eight nine ten. " * 4
    async with gateway(engine) as served, page_of(browser, served) as page:
        await page.fill("#text", text)
        await page.click("#speak")
        await expect(page.locator("#heard")).to_have_text(re.compile(r"\w+ \w+ \w+"))
        await page.keyboard.press("Escape")
        await expect(page.locator("#transcript")).to_have_attribute("data-outcome", "interrupted")
        heard = await page.locator("#heard").text_content()
        unspoken = await page.locator("#unspoken").text_content()
        assert heard and unspoken
        assert heard + unspoken == text
        await expect(page.locator("#interrupt")).to_be_disabled()
        assert engine._running == 0
        samples = await page.evaluate(SAMPLES)
        await page.wait_for_timeout(200)
        assert await page.evaluate(SAMPLES) == samples
        # ... and it can speak again.
        await page.fill("#text", "Again.")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#outcome")).to_have_text("Heard to the end.")


async def test_asks_for_a_key_when_the_gateway_wants_one(browser: Browser) -> None:
    async with gateway(api_keys="open-sesame") as served, page_of(browser, served) as page:
        await expect(page.locator("#key-form")).to_be_visible()
        await page.fill("#key", "open-sesame")
        await page.keyboard.press("Enter")
        await expect(page.locator("#status")).to_have_attribute("data-state", "ready")
        await expect(page.locator("#key-form")).to_be_hidden()


async def test_every_control_has_a_name(browser: Browser) -> None:
    async with gateway() as served, page_of(browser, served) as page:
        for control in await page.locator("button, input, select, textarea").all():
            labelled = await control.evaluate(
                "e => e.labels?.length || e.textContent.trim().length"
            )
            assert labelled, await control.evaluate("e => e.outerHTML")
        assert await page.locator("html").get_attribute("lang") == "en"


# Where a worklet runs there is nobody to ask, so here its class runs in the page.
WORKLET = """
async () => {
  let Playback = null;
  Object.assign(window, {
    sampleRate: 48000,
    AudioWorkletProcessor: class { constructor() { this.port = { postMessage() {} }; } },
    registerProcessor: (name, made) => { Playback = made; },
  });
  await import("./worklet.js");
  const tone = (hz, n) => Float32Array.from({ length: n }, (_, i) => 0.5 * Math.cos(hz * i));
  const lines = [];
  for (const [stopped, blocks] of [[true, 0], [true, 1], [true, 2], [true, 9], [false, 0]]) {
    const playback = new Playback();
    const line = [];
    const run = (count) => {
      for (let i = 0; i < count; i++) {
        const output = new Float32Array(128);
        playback.process([], [[output]]);
        line.push(...output);
      }
    };
    playback.obey({ type: "begin", id: 1 });
    playback.obey({ type: "pcm", samples: tone(0.02, 9600) });
    run(20);
    if (stopped) playback.obey({ type: "stop" });
    run(blocks);
    playback.obey({ type: "begin", id: 2 });
    const head = tone(0.03, 9600);
    for (let i = 0; i < 480; i++) head[i] *= i / 480;
    playback.obey({ type: "pcm", samples: head });
    playback.obey({ type: "end" });
    run(100);
    lines.push({ blocks, line, head: [...head], played: playback.played });
  }
  return lines;
}
"""


async def test_what_comes_next_is_mixed_over_the_faded_end_of_what_was_cut(
    browser: Browser,
) -> None:
    async with gateway() as served, page_of(browser, served) as page:
        cases = await page.evaluate(WORKLET)
    assert len(cases) == 5
    for case in cases:
        line, head = case["line"], case["head"]
        cut, begins = 20 * 128, (20 + case["blocks"]) * 128
        played = [0.0] * begins + head + [0.0] * (len(line) - begins - len(head))
        tail = [a - b for a, b in zip(line[cut:], played[cut:], strict=True)]
        assert max(map(abs, tail[480:])) < 1e-6  # the next one is whole, and alone after the fade
        assert case["played"] == len(head)
        assert max(map(abs, tail[:480])) > 0.3
        jumps = [abs(a - b) for a, b in itertools.pairwise(line[: begins + 1000])]
        assert max(jumps[1:]) < 0.03  # inside the sounds it is 0.015
