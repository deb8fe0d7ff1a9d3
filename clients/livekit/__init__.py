"""LiveKit Agents speak through voice-gateway: `pip install voice-gateway-client[livekit]`.

session = AgentSession(tts=TTS("ws://127.0.0.1:8080"), use_tts_aligned_transcript=True, ...)
await session.start(agent, room=room)
keep_heard_text(session)     # the chat context gets what was heard, when somebody interrupts
"""

from clients.livekit.heard import HeardOutput, keep_heard_text
from clients.livekit.tts import TTS

__all__ = ["TTS", "HeardOutput", "keep_heard_text"]
