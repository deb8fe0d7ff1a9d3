"""A spoken conversation with Pipecat on this machine's microphone and loudspeaker.

Needs `voice-gateway-client[pipecat]`, `pipecat-ai[local,openai,silero,whisper]` and OPENAI_API_KEY.
"""

import asyncio
import os

from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.whisper.stt import WhisperSTTService
from pipecat.transports.local.audio import LocalAudioTransport, LocalAudioTransportParams
from pipecat.workers.runner import WorkerRunner

from clients.pipecat import VoiceGatewayTTSService


async def main() -> None:
    """Runs until Ctrl-C. Speak while it speaks: the LLM is told what you heard."""
    transport = LocalAudioTransport(
        LocalAudioTransportParams(audio_in_enabled=True, audio_out_enabled=True)
    )
    tts = VoiceGatewayTTSService(url=os.environ.get("VOICE_GATEWAY_URL", "ws://127.0.0.1:8080"))
    llm = OpenAILLMService(api_key=os.environ["OPENAI_API_KEY"])
    context = LLMContext([{"role": "system", "content": "You are spoken aloud. Be brief."}])
    listens = LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer())
    pair = LLMContextAggregatorPair(context, user_params=listens)
    steps = [transport.input(), WhisperSTTService(), pair.user(), llm, tts]
    pipeline = Pipeline([*steps, transport.output(), pair.assistant()])
    runner = WorkerRunner()
    await runner.add_workers(PipelineWorker(pipeline, params=PipelineParams(enable_metrics=True)))
    await runner.run()


if __name__ == "__main__":
    asyncio.run(main())
