"""Pipecat speaks through voice-gateway: `pip install voice-gateway-client[pipecat]`.

tts = VoiceGatewayTTSService(url="ws://127.0.0.1:8080", api_key=...)
pipeline = Pipeline([..., llm, tts, transport.output(), aggregators.assistant()])
"""

from clients.pipecat.service import VoiceGatewayTTSService, VoiceGatewayTTSSettings

__all__ = ["VoiceGatewayTTSService", "VoiceGatewayTTSSettings"]
