// From packets to the loudspeaker: WebCodecs decodes, an AudioWorklet plays and counts.

const RATE_HZ = 48000;
const SAMPLES_PER_MS = RATE_HZ / 1000;

const hasOpus = "AudioDecoder" in window;

/** What to ask the gateway for: Opus, or plain samples where the browser cannot decode it. */
export const FORMAT = hasOpus
  ? { codec: "opus", frame_ms: 20 }
  : { codec: "pcm_f32le", sample_rate_hz: RATE_HZ, frame_ms: 20 };

/** The page's one audio output. `onReport` is told {playedMs, queuedMs, underruns, over}. */
export class Player {
  #context = null;
  #node = null;
  #utterance = null;
  onReport = () => {};

  /** Must be called from a user's gesture once, or the browser stays silent. */
  async open() {
    if (!this.#context) {
      this.#context = new AudioContext({ sampleRate: RATE_HZ, latencyHint: "interactive" });
      await this.#context.audioWorklet.addModule("worklet.js");
      this.#node = new AudioWorkletNode(this.#context, "playback", { outputChannelCount: [1] });
      this.#node.port.onmessage = (event) => this.#report(event.data);
      this.#node.connect(this.#context.destination);
    }
    await this.#context.resume();
  }

  /** Begin an utterance; the one before it falls silent. */
  begin(preSkipSamples) {
    this.#utterance?.close();
    this.#utterance = new Utterance(this.#node.port, preSkipSamples);
    return this.#utterance;
  }

  /** Silence, at once but without a click. Packets of the utterance that still come are dropped. */
  stop() {
    this.#utterance?.close();
    this.#utterance = null;
    this.#node?.port.postMessage({ type: "stop" });
  }

  #report({ playedSamples, queuedSamples, underruns, over, id }) {
    if (id !== this.#utterance?.id) return;
    // What the worklet has given out is heard only once it has left the device's buffer.
    const latencyMs = 1000 * (this.#context.outputLatency || 0);
    this.onReport({
      playedMs: Math.max(0, playedSamples / SAMPLES_PER_MS - (over ? 0 : latencyMs)),
      queuedMs: queuedSamples / SAMPLES_PER_MS,
      underruns,
      over,
    });
  }
}

let nextId = 1;

/** One context's decoder. Each context is an Opus stream of its own. */
class Utterance {
  #port;
  #decoder = null;
  #toSkip;
  #remaining = Infinity;
  #closed = false;
  decodedSamples = 0;
  peak = 0;

  constructor(port, preSkipSamples) {
    this.id = nextId++;
    this.#port = port;
    this.#toSkip = preSkipSamples;
    this.#port.postMessage({ type: "begin", id: this.id });
    if (hasOpus) {
      this.#decoder = new AudioDecoder({
        output: (data) => this.#decoded(data),
        error: (error) => console.error("decoder:", error),
      });
      this.#decoder.configure({ codec: "opus", sampleRate: RATE_HZ, numberOfChannels: 1 });
    }
  }

  push(frame) {
    if (this.#closed) return;
    if (this.#decoder) {
      const timestamp = Math.round((1e6 * frame.timestampSamples) / RATE_HZ);
      this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp, data: frame.payload }));
    } else {
      this.#play(new Float32Array(frame.payload));
    }
  }

  /** All packets are here; `audioMs` of sound are in them, the rest is padding. */
  async finish(audioMs) {
    if (this.#closed) return;
    this.#remaining = Math.round(audioMs * SAMPLES_PER_MS) - this.decodedSamples;
    if (this.#decoder) await this.#decoder.flush().catch(() => {});
    if (!this.#closed) this.#port.postMessage({ type: "end" });
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
  }

  #decoded(data) {
    const samples = new Float32Array(data.numberOfFrames);
    data.copyTo(samples, { planeIndex: 0, format: "f32-planar" });
    data.close();
    this.#play(samples);
  }

  #play(samples) {
    if (this.#closed) return;
    const skip = Math.min(this.#toSkip, samples.length);
    this.#toSkip -= skip;
    const heard = samples.subarray(skip, skip + Math.min(samples.length - skip, this.#remaining));
    this.#remaining -= heard.length;
    if (heard.length === 0) return;
    this.decodedSamples += heard.length;
    for (const sample of heard) this.peak = Math.max(this.peak, Math.abs(sample));
    const owned = heard.slice();
    this.#port.postMessage({ type: "pcm", samples: owned }, [owned.buffer]);
  }
}
