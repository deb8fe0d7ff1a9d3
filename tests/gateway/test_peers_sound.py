"""The complaints that are about text and sound themselves; `test_peers` lists them all."""

from __future__ import annotations

import asyncio
import base64
import json

import numpy as np
import pytest

from engine.fake import FakeEngine, FakeEngineConfig
from gateway.audio import make_chain
from gateway.audio.constants import CROSSFADE_MS, FADE_IN_MS, FADE_TAIL_MS, Samples
from gateway.audio.g711 import ALAW_SILENCE, MULAW_SILENCE
from gateway.text.segment import segmenter_for
from gateway.types import AudioFormat, Codec, Configure, ContextSettings, Done, SettingsPatch
from tests.gateway import fakes, shell
from tests.gateway.audio.signals import largest_jump, sine
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import Harness
from tests.gateway.sounds import SpeakingEngine, harness, say, sound

RATE_HZ, FRAME = FACTS.sample_rate_hz, FACTS.frame_samples
FLOAT = AudioFormat(Codec.PCM_F32LE, RATE_HZ)
DEADLINE_S = shell.DEADLINE_S

# What must stay whole, in a sentence around it; every character of it that is no letter or digit
# is a place where peers have cut.
WHOLE = [
    ("The answer is ", "3.14159", " and nothing else will do."),
    ("It cost him ", "$1,299.50", " at the time, or so they said."),
    ("The train leaves at ", "12:30", " from the last platform."),
    ("You need at least version ", "2.10.3-rc.1", " of the program."),
    ("Go to ", "https://www.example.com/a.b?c=d,e&f=1.5", " and look around there."),
    ("Please write to ", "first.last@mail.example.org", " about this matter."),
    ("We are going to meet ", "Dr. Smith", " and his wife in the evening."),
    ("There are many, ", "e.g. this one", ", and they are all alike."),
    ("He moved to the ", "U.S. Navy", " after he had left the school."),
    ("The network is at ", "192.168.0.1", " behind the other machine."),
    ("Well then, ", "J. R. R. Tolkien", " wrote it a long time ago."),
]


@pytest.mark.parametrize("mode", ["sentence", "clause"])
@pytest.mark.parametrize(("before", "whole", "after"), WHOLE, ids=[w for _, w, _ in WHOLE])
def test_03_numbers_urls_and_abbreviations_are_not_split(
    before: str, whole: str, after: str, mode: str
) -> None:
    text = f"{before}{whole}{after} Then comes another sentence."
    start, end = len(before), len(before) + len(whole)
    separators = [i for i in range(start, end) if not text[i].isalnum()]
    assert separators
    feeds = [list(text), *([text[: i + 1], text[i + 1 :]] for i in separators)]
    for pieces in feeds:
        segmenter = segmenter_for(ContextSettings(segment_mode=mode))
        segments = []
        for i, piece in enumerate(pieces):
            segments += segmenter.push(piece, 10.0 * i)
            segments += segmenter.tick(10.0 * i + 9.0)
        segments += segmenter.flush()
        assert "".join(segment.text for segment in segments) == text
        assert not [s.end for s in segments if start < s.end < end], (pieces, segments)
        assert len(segments) >= 2  # the second sentence is one of its own


class ToneEngine(fakes.FakeEngine):
    """Every segment is a tone of full length: nothing to trim, so that every sample counts."""

    def samples_of(self, text: str, frame: int) -> bytes:
        tone = sine(RATE_HZ, self.frames_of(text) * FRAME / RATE_HZ, hz=400.0 + len(text))
        return tone[frame * FRAME : (frame + 1) * FRAME].tobytes()


def heard(engine: fakes.FakeEngine, text: str) -> tuple[Harness, Samples]:
    h = Harness(
        engine,
        chain=lambda f, s: make_chain(f, RATE_HZ, s),  # type: ignore[arg-type, return-value]
    )
    h.do(Configure(None, SettingsPatch(format=FLOAT, lead_ms=0)))
    say(h, "c1", text)
    h.run(60_000)
    return h, sound(h, "c1", FLOAT)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_05_seams_lose_no_samples_and_do_not_click(count: int) -> None:
    texts = [f"Sentence {'with more and more words ' * i}here. " for i in range(count)]
    engine = ToneEngine(frame_delay_ms=15.0)
    h, samples = heard(engine, "".join(texts))
    assert [s.text for s in engine.submitted] == texts
    seam, made = round(CROSSFADE_MS * RATE_HZ / 1000), engine.frames_made * FRAME
    assert made == sum(engine.frames_of(text) for text in texts) * FRAME
    (done,) = h.events(Done)
    assert isinstance(done, Done)
    assert len(samples) == round(done.audio_ms * RATE_HZ / 1000) == made - (count - 1) * seam
    inside = max(largest_jump(np.frombuffer(engine.samples_of(t, 1), "<f4")) for t in texts)
    assert largest_jump(np.concatenate(([0.0], samples, [0.0]))) <= 1.01 * inside
    at = 0
    for i, text in enumerate(texts):  # what is not under a seam or a fade is the engine's, exactly
        frames = engine.frames_of(text)
        whole = b"".join(engine.samples_of(text, frame) for frame in range(frames))
        own = np.frombuffer(whole, "<f4")
        first = seam if i else round(FADE_IN_MS * RATE_HZ / 1000)
        last = len(own) - (seam if i < count - 1 else round(FADE_TAIL_MS * RATE_HZ / 1000))
        assert np.array_equal(samples[at + first : at + last], own[first:last])
        at += len(own) - seam


def test_05_the_size_of_the_engines_chunks_cannot_be_heard() -> None:
    _, quick = heard(SpeakingEngine(frame_delay_ms=0.0), "One two three. Four five six. ")
    _, slow = heard(SpeakingEngine(frame_delay_ms=35.0), "One two three. Four five six. ")
    assert np.array_equal(quick, slow)


@pytest.mark.parametrize("rate_hz", [8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("frame_ms", [10, 20, 60])
async def test_07_no_websocket_frame_of_pcm_has_an_odd_number_of_bytes(
    rate_hz: int, frame_ms: int
) -> None:
    """Also the last one of a context, and the one that an interrupt fades."""
    async with shell.gateway() as served, shell.socket(served) as ws:
        await shell.receive(ws)
        wanted = {"codec": "pcm_s16le", "sample_rate_hz": rate_hz, "frame_ms": frame_ms}
        await shell.send(ws, "configure", format=wanted)
        await shell.send(ws, "text", context="whole", text="Hello there, my friend. ")
        await shell.send(ws, "end", context="whole")
        done, before = await shell.until_event(ws, "done")
        await shell.send(ws, "text", context="cut", text="Hello there, my friend. " * 9)
        await shell.until_event(ws, "segment")
        await shell.send(ws, "interrupt", context="cut")
        cut, after = await shell.until_event(ws, "interrupted")
    for answer_ms, items in ((done["audio_ms"], before), (cut["sent_ms"], after)):
        payloads = [item[24:] for item in items if isinstance(item, bytes)]
        assert payloads and answer_ms > 0
        assert {len(payload) % 2 for payload in payloads} == {0}
    total = sum(len(item) - 24 for item in before if isinstance(item, bytes))
    assert total / 2 == pytest.approx(done["audio_ms"] * rate_hz / 1000, abs=0.51)


async def http_chunks(port: int, body: dict[str, object]) -> list[bytes]:
    """The chunks of a chunked response as they were sent, which no HTTP client tells."""
    content = json.dumps(body)
    head = (
        "POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((head + content).encode())
    async with asyncio.timeout(DEADLINE_S):
        answer = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in answer and b"chunked" in answer.lower()
        chunks = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            chunks.append(await reader.readexactly(size))
            assert await reader.readexactly(2) == b"\r\n"
    writer.close()
    return chunks


@pytest.mark.parametrize("speed", [1.0, 1.37])
async def test_07_no_http_chunk_of_pcm_has_an_odd_number_of_bytes(speed: float) -> None:
    body = {"input": "Hello there. How are you? " * 2, "voice": "default", "speed": speed}
    body["response_format"] = "pcm"
    async with shell.gateway(FakeEngine(FakeEngineConfig(frame_delay_s=0.002))) as served:
        chunks = await http_chunks(served.port, body)
        events = await http_chunks(served.port, {**body, "stream_format": "sse"})
    assert len(chunks) > 5 and {len(chunk) % 2 for chunk in chunks} == {0}
    lines = b"".join(events).decode().strip().split("\n\n")
    deltas = [json.loads(line.removeprefix("data: ")).get("audio") for line in lines]
    sizes = [len(base64.b64decode(delta)) for delta in deltas if delta]
    assert len(sizes) > 5 and {size % 2 for size in sizes} == {0}
    assert sum(sizes) == sum(map(len, chunks))


@pytest.mark.parametrize("rate_hz", [8000, 16_000, 22_050, 24_000, 44_100, 48_000])
def test_15_speech_lasts_as_long_at_every_rate(rate_hz: int) -> None:
    """22.05 kHz played as 24 kHz would be nine percent shorter, and the pitch higher."""
    h = harness()
    wanted = AudioFormat(Codec.PCM_S16LE, rate_hz)
    h.do(Configure(None, SettingsPatch(format=wanted)))
    say(h, "c1", "One two three four five. ")
    h.run(60_000)
    (done,) = h.events(Done)
    assert isinstance(done, Done)
    made_ms = 1000 * h.engine.frames_made * FRAME / RATE_HZ
    assert done.audio_ms == pytest.approx(made_ms, abs=1000 / rate_hz)
    assert len(sound(h, "c1", wanted)) == round(made_ms * rate_hz / 1000)


@pytest.mark.parametrize(
    ("codec", "quiet"), [(Codec.MULAW, MULAW_SILENCE), (Codec.ALAW, ALAW_SILENCE)]
)
def test_15_silence_on_a_phone_line_is_not_0x00(codec: Codec, quiet: int) -> None:
    h = harness()
    h.do(Configure(None, SettingsPatch(format=AudioFormat(codec, 8000))))
    say(h, "c1", 'One two. <break time="400ms"/> Three four. ')
    h.run(60_000)
    line = b"".join(packet.payload for _, packet in h.audio("c1"))
    silence = bytes([quiet]) * (350 * 8)
    assert silence in line and bytes(10) not in line
