"""OpenAI's JavaScript SDK in a real browser, on a page of another host: its preflights are real."""

from __future__ import annotations

import contextlib
import functools
import http.server
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright

from engine.fake import FakeEngine, FakeEngineConfig
from tests.clients.test_browser import ARGUMENTS, CHROMIUM
from tests.gateway.shell import gateway
from tests.vendors.environments import node_folder
from tests.vendors.test_openai import NODE

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium: apt-get install chromium (Debian)"
)
PAGE = """<!doctype html><title>A page of another host</title><script type="module">
import OpenAI from "/node_modules/openai/index.mjs";
window.speak = async (baseURL) => {
  const client = new OpenAI({apiKey: "sk-1", baseURL, organization: "org-1", maxRetries: 0,
                             dangerouslyAllowBrowser: true});
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  const speech = await client.audio.speech.create(
    {model: "tts-1", voice: "Alloy", input: "Hello there my friend.", response_format: "wav",
     instructions: "sad", user: "me"});
  const bytes = (await speech.arrayBuffer()).byteLength;
  let refused = null;
  try {
    await client.audio.speech.create({model: "tts-1", voice: "nobody", input: "Hello."});
  } catch (error) { refused = error.code; }
  return {models, bytes, ignored: speech.headers.get("x-voice-gateway-ignored"), refused};
};
window.ready = true;
</script>"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the page, and the package beside it."""

    extensions_map = {".mjs": "text/javascript", ".html": "text/html"}

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page on `localhost`, which is not the gateway's 127.0.0.1."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text(PAGE)
    (folder / "node_modules").symlink_to(Path(node_folder(*NODE)) / "node_modules")
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


@contextlib.asynccontextmanager
async def page_at(url: str) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = await browser.new_page()
        await page.goto(url)
        await page.wait_for_function("window.ready")
        yield page
        await browser.close()


async def test_a_page_that_is_allowed(site: str) -> None:
    engine = FakeEngine(FakeEngineConfig(speaks_tags=False))
    async with (
        gateway(engine, allowed_origins=site, api_keys="sk-1") as served,
        page_at(site) as page,
    ):
        seen: Any = await page.evaluate("url => window.speak(url)", f"{served.url}v1")
    assert seen["models"][0] == "fake" and seen["refused"] == "unknown_voice"
    assert seen["bytes"] == 44 + 2 * 2048 * engine._frames_total
    assert seen["ignored"] == "user, instructions"


async def test_another_page_is_refused_and_the_log_says_how_to_allow_it(
    site: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway() as served, page_at(site) as page:
        with pytest.raises(Exception, match="Connection error"):
            await page.evaluate("url => window.speak(url)", f"{served.url}v1")
    said = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert len(said) == 1 and site in said[0] and "--allowed-origins" in said[0]
