"""The `elevenlabs` package against a gateway: `python elevenlabs_python.py BASE KEY FOLDER`.

Prints what it saw as one JSON object; sound goes into files of FOLDER.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
import ssl
import sys
import threading
from pathlib import Path

import trustme
from elevenlabs import AsyncElevenLabs, ElevenLabs, VoiceSettings
from elevenlabs.core import ApiError

TEXT = "Please open the window in the kitchen. We had soup and bread for lunch."
VOICE, MODEL = "21m00Tcm4TlvDq8ikWAM", "eleven_flash_v2_5"
FORMATS = ("mp3_44100_128", "mp3_22050_32", "pcm_16000", "wav_24000", "ulaw_8000", "alaw_8000",
           "opus_48000_64")  # fmt: skip


def tokens(text: str) -> list[str]:
    """As an LLM gives them: three characters at a time."""
    return [text[i : i + 3] for i in range(0, len(text), 3)]


def tls_port(port: int, folder: Path) -> int:
    """A port that speaks TLS in front of `port`: `convert_realtime` knows only wss."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    os.environ["SSL_CERT_FILE"] = str(folder / "ca.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0))

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()
        except (OSError, ssl.SSLError):
            pass
        sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, inner[1]), pump(inner[0], writer))

    async def run() -> None:
        async with await asyncio.start_server(serve, sock=listener, ssl=context) as server:
            await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    return listener.getsockname()[1]


def timed(response: object) -> dict[str, object]:
    """The times of a response, as plain lists."""
    return {
        "chars": list(response.characters),
        "starts": list(response.character_start_times_seconds),
        "ends": list(response.character_end_times_seconds),
    }


def over_http(client: ElevenLabs, folder: Path, seen: dict[str, object]) -> None:
    speech = client.text_to_speech
    for name in FORMATS:
        sound = b"".join(
            speech.convert(VOICE, text=TEXT, model_id=MODEL, output_format=name, seed=7)
        )
        (folder / f"convert.{name}").write_bytes(sound)
    sizes = []
    with (folder / "stream.pcm_24000").open("wb") as file:
        for chunk in speech.stream(
            VOICE,
            text=TEXT,
            model_id=MODEL,
            output_format="pcm_24000",
            voice_settings=VoiceSettings(stability=0.5, similarity_boost=0.7, speed=1.1),
            optimize_streaming_latency=3,
            previous_text="Before. ",
        ):
            sizes.append(file.write(chunk))
    seen["stream_chunks"] = len(sizes)
    whole = speech.convert_with_timestamps(VOICE, text=TEXT, output_format="pcm_24000")
    (folder / "timed.pcm_24000").write_bytes(base64.b64decode(whole.audio_base_64))
    seen["timed"] = timed(whole.alignment)
    seen["normalized"] = timed(whole.normalized_alignment)
    pieces, sound = [], b""
    for chunk in speech.stream_with_timestamps(VOICE, text=TEXT, output_format="pcm_24000"):
        sound += base64.b64decode(chunk.audio_base_64)
        if chunk.alignment is not None:
            pieces.append(timed(chunk.alignment))
    (folder / "timed_stream.pcm_24000").write_bytes(sound)
    seen["timed_stream"] = pieces


def errors(base: str, client: ElevenLabs) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, act in (
        ("key", lambda: list(ElevenLabs(base_url=base, api_key="wrong").text_to_speech.convert(
            VOICE, text=TEXT))),
        ("format", lambda: list(client.text_to_speech.convert(
            VOICE, text=TEXT, output_format="mp3_1_1"))),
        ("text", lambda: list(client.text_to_speech.convert(VOICE, text=""))),
        ("voice", lambda: client.voices.get("nobody")),
    ):  # fmt: skip
        try:
            act()
        except ApiError as error:
            found[name] = [error.status_code, error.body]
    return found


async def cancelled(base: str, key: str) -> int:
    """Leave a long answer after its first piece. Returns its size."""
    client = AsyncElevenLabs(base_url=base, api_key=key)
    async with contextlib.aclosing(client.text_to_speech.stream(VOICE, text=TEXT * 20)) as stream:
        return len(await anext(stream))


def realtime(secure: str, key: str, folder: Path) -> int:
    client = ElevenLabs(base_url=secure, api_key=key)
    chunks = [
        *client.text_to_speech.convert_realtime(
            VOICE,
            text=iter(tokens(TEXT)),
            model_id=MODEL,
            output_format="mp3_44100_128",
            voice_settings=VoiceSettings(stability=0.4, similarity_boost=0.8),
        )
    ]
    (folder / "realtime.mp3_44100_128").write_bytes(b"".join(chunks))
    return len(chunks)


def realtime_error(secure: str) -> list[object]:
    client = ElevenLabs(base_url=secure, api_key="wrong")
    try:
        list(client.text_to_speech.convert_realtime(VOICE, text=iter(["Hello. "])))
    except ApiError as error:
        return [error.status_code, error.body]
    return []


def main() -> None:
    base, key, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    secure = f"https://localhost:{tls_port(int(base.rsplit(':', 1)[1]), folder)}"
    client = ElevenLabs(base_url=base, api_key=key)
    seen: dict[str, object] = {
        "voices": [voice.voice_id for voice in client.voices.get_all().voices],
        "search": [voice.name for voice in client.voices.search(page_size=2).voices],
        "models": [model.model_id for model in client.models.list()],
        "errors": errors(base, client),
        "realtime_chunks": realtime(secure, key, folder),
        "realtime_error": realtime_error(secure),
        "first_piece": asyncio.run(cancelled(base, key)),
    }
    over_http(client, folder, seen)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
