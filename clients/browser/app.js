// The page: one text, one button to speak it, one to stop it, and what was heard of it.

import { Gateway, streamUrl } from "./gateway.js";
import { FORMAT, Player } from "./player.js";

const REPORT_EVERY_MS = 200;
const RETRY_MS = 1500;
const UNAUTHORIZED = 4401;
const TRY_AGAIN_LATER = 1013;

const $ = (id) => document.getElementById(id);
const ms = (value) => `${Math.round(value)} ms`;
const seconds = (value) => `${(value / 1000).toFixed(2)} s`;

const player = new Player();
let gateway = null;
let key = "";
let speech = null; // the utterance that is being made or heard

/** One utterance from its text to its last sample. */
class Speech {
  constructor(text) {
    this.id = crypto.randomUUID();
    this.text = text;
    this.beganAt = performance.now();
    this.words = [];
    this.utterance = null;
    this.rateHz = 48000;
    this.receivedMs = 0;
    this.playedMs = 0;
    this.reportedAt = 0;
    this.interrupted = false;
    this.firstPacketMs = null;
  }
}

function connect() {
  gateway = new Gateway(streamUrl(), key);
  gateway.addEventListener("message", (event) => take(event.detail));
  gateway.addEventListener("audio", (event) => takeAudio(event.detail));
  gateway.addEventListener("closed", (event) => lost(event.detail));
}

function status(state, text) {
  $("status").dataset.state = state;
  $("status").textContent = text;
  $("speak").disabled = state !== "ready";
}

function lost({ code, reason }) {
  if (speech) giveUp("The connection was lost.");
  if (code === UNAUTHORIZED) {
    status("failed", "An API key is needed");
    $("key-form").hidden = false;
    $("key").focus();
    return;
  }
  const busy = code === TRY_AGAIN_LATER;
  status("connecting", busy ? "The engine is not ready yet" : `Connecting again ${reason}`.trim());
  setTimeout(connect, RETRY_MS);
}

function greet(hello) {
  $("key-form").hidden = true;
  const chosen = $("voice").value;
  $("voice").replaceChildren(...hello.voices.map((name) => new Option(name, name)));
  if (hello.voices.includes(chosen)) $("voice").value = chosen;
  $("voice").disabled = false;
  status("ready", `Connected, ${hello.engine.max_streams} streams`);
}

async function speak() {
  const text = $("text").value;
  if (!text.trim() || !gateway.open) return;
  if (speech) interrupt();
  await player.open();
  speech = new Speech(text);
  $("transcript").dataset.outcome = "speaking";
  show("", text, "");
  $("first-packet").textContent = "\u2013";
  $("interrupt").disabled = false;
  gateway.send("configure", {
    context: speech.id,
    voice: $("voice").value,
    speed: Number($("speed").value),
    format: FORMAT,
    words: true,
  });
  gateway.send("text", { context: speech.id, text });
  gateway.send("end", { context: speech.id });
}

function interrupt() {
  if (!speech || speech.interrupted) return;
  player.stop(); // first be silent, then ask
  gateway.send("interrupt", { context: speech.id, played_ms: speech.playedMs });
  $("interrupt").disabled = true;
  speech.utterance = null; // what still arrives is stale
  speech.interrupted = true;
}

function take(event) {
  if (event.type === "hello") return greet(event);
  if (event.type === "error" && event.context === null) {
    if (event.code !== "unauthorized") $("outcome").textContent = event.message;
    return;
  }
  if (!speech || event.context !== speech.id) return;
  handlers[event.type]?.(event);
}

const handlers = {
  started(event) {
    speech.number = event.number;
    speech.rateHz = event.format.sample_rate_hz;
    speech.generation = event.generation;
    speech.preSkipMs = (1000 * event.pre_skip_samples) / speech.rateHz;
    if (speech.interrupted) return;
    speech.utterance = player.begin(event.pre_skip_samples);
    window.voiceGateway.utterance = speech.utterance;
  },
  words(event) {
    speech.words.push(...event.words);
  },
  done(event) {
    if (speech.utterance) speech.utterance.finish(event.audio_ms);
    else if (!speech.interrupted) giveUp("There was nothing to say in that text.");
  },
  interrupted(event) {
    $("transcript").dataset.outcome = "interrupted";
    const confirmed = event.engine_confirmed ? "" : "; the engine has not confirmed";
    show(event.heard_text, event.unspoken_text, `Interrupted at ${seconds(event.heard_ms)}${confirmed}.`);
    $("played").textContent = seconds(event.heard_ms);
    over();
  },
  error(event) {
    giveUp(event.message);
  },
};

function takeAudio(frame) {
  if (!speech || frame.number !== speech.number || frame.generation !== speech.generation) return;
  if (!speech.utterance) return;
  if (speech.firstPacketMs === null) {
    speech.firstPacketMs = performance.now() - speech.beganAt;
    $("first-packet").textContent = ms(speech.firstPacketMs);
  }
  speech.receivedMs = (1000 * frame.timestampSamples) / speech.rateHz - speech.preSkipMs;
  speech.utterance.push(frame);
}

player.onReport = ({ playedMs, underruns, over: finished }) => {
  if (!speech) return;
  speech.playedMs = playedMs;
  $("played").textContent = seconds(playedMs);
  $("lead").textContent = ms(Math.max(0, speech.receivedMs - playedMs));
  $("underruns").textContent = underruns;
  const now = performance.now();
  if (finished || now - speech.reportedAt >= REPORT_EVERY_MS) {
    speech.reportedAt = now;
    gateway.send("playback", { context: speech.id, played_ms: playedMs });
  }
  const word = speech.words.findLast((w) => w.start_ms <= playedMs);
  const end = finished ? speech.text.length : word ? word.end : 0;
  show(speech.text.slice(0, end), speech.text.slice(end), "");
  if (finished) {
    $("transcript").dataset.outcome = "done";
    $("outcome").textContent = "Heard to the end.";
    over();
  }
};

function giveUp(message) {
  $("transcript").dataset.outcome = "failed";
  $("outcome").textContent = message;
  player.stop();
  over();
}

function over() {
  speech = null;
  $("interrupt").disabled = true;
}

function show(heard, unspoken, outcome) {
  $("heard").textContent = heard;
  $("unspoken").textContent = unspoken;
  $("outcome").textContent = outcome;
}

$("speak-form").addEventListener("submit", (event) => {
  event.preventDefault();
  speak();
});
$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = $("key").value;
  connect();
});
$("interrupt").addEventListener("click", interrupt);
$("speed").addEventListener("input", () => {
  $("speed-value").textContent = Number($("speed").value).toFixed(1);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") interrupt();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) speak();
});

window.voiceGateway = { player, utterance: null }; // for the console, and for tests
if (window.AudioWorkletNode) connect();
else status("failed", "This page needs a secure address: use https, or localhost");
