# The CPU service: engine and gateway in one container. Built in two stages, so that the image holds
# the environment and not what made it.

FROM python:3.12-slim AS build
RUN pip install --no-cache-dir uv==0.13.9
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /app
# The dependencies change less often than the code: a layer of their own.
COPY pyproject.toml README.md LICENSE ./
RUN uv sync --no-dev --no-install-project
COPY gateway gateway
COPY engine engine
COPY clients clients
RUN uv sync --no-dev --no-editable
# The kernels are compiled once, here, instead of at each container's start. A layer keeps whole
# seconds of a file's time, and compiled code is of a file with exactly its time.
RUN find .venv -path '*/site-packages/engine/*.py' \
        -exec sh -c 'for f; do touch -d "@$(stat -c %Y "$f")" "$f"; done' touch {} + \
    && NUMBA_CACHE_DIR=/kernels .venv/bin/python -m engine.compile_kernels

FROM python:3.12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libopus0 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 voice
COPY --from=build /app/.venv /app/.venv
# numba takes only a folder that it can write; this is where a worker looks (engine/caches.py)
COPY --from=build --chown=voice /kernels /home/voice/.cache/voice-gateway/numba
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    VOICE_GATEWAY_HOST=0.0.0.0 \
    VOICE_GATEWAY_PORT=8080
USER voice
WORKDIR /home/voice
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=180s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["voice-gateway"]
CMD ["serve"]
