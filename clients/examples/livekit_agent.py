"""An agent of LiveKit that speaks through a gateway: `python livekit_agent.py console`.

Needs `voice-gateway-client[livekit]`, `livekit-agents[openai,silero]` and OPENAI_API_KEY.
"""

import os

from livekit.agents import Agent, AgentServer, AgentSession, JobContext, cli
from livekit.plugins import openai

from clients.livekit import TTS, keep_heard_text

server = AgentServer()


@server.rtc_session()
async def entrypoint(job: JobContext) -> None:
    """One call. Who interrupts is remembered as having heard what was heard."""
    session: AgentSession[None] = AgentSession(
        stt=openai.STT(),
        llm=openai.LLM(model="gpt-4o-mini"),
        tts=TTS(os.environ.get("VOICE_GATEWAY_URL", "ws://127.0.0.1:8080")),
        use_tts_aligned_transcript=True,
    )
    await session.start(Agent(instructions="You are spoken aloud. Be brief."), room=job.room)
    keep_heard_text(session)
    await session.generate_reply(instructions="Greet the caller.")


if __name__ == "__main__":
    cli.run_app(server)
