// Plays queued samples and counts what was played: the only clock that knows what was heard.

const START_SAMPLES = 0.06 * sampleRate; // wait for so much, or for the end, before starting
const REPORT_SAMPLES = 0.04 * sampleRate;
const FADE_SAMPLES = Math.round(0.01 * sampleRate);

class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.tail = new Float32Array(0); // the faded end of what was cut off, not yet played
    this.reset(0);
    this.port.onmessage = (event) => this.obey(event.data);
  }

  reset(id) {
    this.id = id;
    this.chunks = [];
    this.offset = 0; // into the first chunk
    this.queued = 0;
    this.played = 0;
    this.reportedAt = 0;
    this.underruns = 0;
    this.running = false;
    this.ended = false;
    this.over = false;
  }

  obey(message) {
    if (message.type === "begin") {
      this.cut(message.id);
    } else if (message.type === "pcm") {
      this.chunks.push(message.samples);
      this.queued += message.samples.length;
    } else if (message.type === "end") {
      this.ended = true;
    } else if (message.type === "stop") {
      this.cut(0);
    }
  }

  // What comes next is mixed over a short fade of what was playing.
  cut(id) {
    const count = this.running ? Math.min(FADE_SAMPLES, this.queued) : 0;
    const tail = new Float32Array(Math.max(count, this.tail.length));
    tail.set(this.tail);
    for (let i = 0; i < count; i++) {
      tail[i] += this.next() * (0.5 + 0.5 * Math.cos((Math.PI * (i + 0.5)) / count));
    }
    this.tail = tail;
    this.reset(id);
  }

  next() {
    const sample = this.chunks[0][this.offset++];
    if (this.offset === this.chunks[0].length) {
      this.chunks.shift();
      this.offset = 0;
    }
    this.queued--;
    return sample;
  }

  process(inputs, outputs) {
    const output = outputs[0][0];
    if (!this.running && (this.queued >= START_SAMPLES || (this.ended && this.queued > 0))) {
      this.running = true;
    }
    if (this.running) this.fill(output);
    if (this.tail.length > 0) this.mixTail(output);
    if (this.ended && this.queued === 0) this.finish();
    if (this.played - this.reportedAt >= REPORT_SAMPLES) this.report();
    return true;
  }

  fill(output) {
    for (let i = 0; i < output.length; i++) {
      if (this.queued === 0) {
        if (!this.ended) this.runDry();
        return;
      }
      output[i] = this.next();
      this.played++;
    }
  }

  mixTail(output) {
    const count = Math.min(this.tail.length, output.length);
    for (let i = 0; i < count; i++) output[i] += this.tail[i];
    this.tail = this.tail.subarray(count);
  }

  runDry() {
    this.underruns++;
    this.running = false;
  }

  finish() {
    if (this.over) return;
    this.over = true;
    this.running = false;
    this.report();
  }

  report() {
    this.reportedAt = this.played;
    this.port.postMessage({
      id: this.id,
      playedSamples: this.played,
      queuedSamples: this.queued,
      underruns: this.underruns,
      over: this.over,
    });
  }
}

registerProcessor("playback", Playback);
