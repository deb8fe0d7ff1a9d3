// `@cartesia/cartesia-js` against a gateway: node cartesia_node.mjs HTTP KEY FOLDER
// Prints what it saw as one JSON object; sound goes into files of FOLDER.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import AsInBrowsers from "@cartesia/cartesia-js";

// As a CommonJS module it finds the package `ws` and puts its key into a header; as an ES module it
// takes the WebSocket of its surroundings, as in a browser, and puts the key into the address.
const require = createRequire(import.meta.url);
const { default: Cartesia } = require("@cartesia/cartesia-js");
globalThis.WebSocket ??= require("ws").WebSocket;

const TEXT = "Please open the window in the kitchen. We had soup and bread for lunch.";
const LONG = "It was a long and quiet day by the sea. ".repeat(12);
const [base, key, folder] = process.argv.slice(2);

// The SDK's sockets know only wss: a port that speaks TLS in front of the gateway.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
const pems = require("selfsigned").generate([{ name: "commonName", value: "localhost" }]);
const secure = createServer({ key: pems.private, cert: pems.cert }, (socket) => {
  const inner = connect(Number(new URL(base).port), "127.0.0.1");
  socket.pipe(inner).pipe(socket);
  for (const side of [socket, inner]) side.on("error", () => [socket, inner].forEach((s) => s.destroy()));
});
await new Promise((resolve) => secure.listen(0, "127.0.0.1", resolve));
const over = { baseURL: `https://localhost:${secure.address().port}`, apiKey: key, maxRetries: 0 };

const client = new Cartesia(over);
const voice = { mode: "id", id: "6ccbfb76-1fc6-48f7-b71d-91ac6298247b" };
const raw = { container: "raw", encoding: "pcm_s16le", sample_rate: 24000 };
const request = { model_id: "sonic-3", transcript: TEXT, voice, output_format: raw };

const save = (name, parts) => writeFileSync(join(folder, name), Buffer.concat(parts));

class Heard {
  parts = [];
  words = [];
  flushes = [];
  last = null;
  take(event) {
    this.last = event.type;
    if (event.type === "chunk") this.parts.push(Buffer.from(event.data, "base64"));
    if (event.type === "flush_done") this.flushes.push(event.flush_id);
    if (event.type === "timestamps") {
      const told = event.word_timestamps;
      told.words.forEach((word, i) => this.words.push([word, told.start[i], told.end[i]]));
    }
  }
  async all(events) {
    for await (const event of events) this.take(event);
    return this;
  }
}

const seen = {};
seen.voices = [];
for await (const one of client.voices.list({ limit: 2 })) seen.voices.push(one.id);

const files = {
  wav: { container: "wav", encoding: "pcm_s16le", sample_rate: 24000 },
  mp3: { container: "mp3", sample_rate: 44100, bit_rate: 128000 },
  pcm_mulaw_8000: { container: "raw", encoding: "pcm_mulaw", sample_rate: 8000 },
};
for (const [name, output_format] of Object.entries(files)) {
  const response = await client.tts.generate({ ...request, output_format });
  save(`bytes.${name}`, [Buffer.from(await response.arrayBuffer())]);
}
const sse = await new Heard().all(await client.tts.generateSSE({ ...request, add_timestamps: true }));
save("sse.pcm_s16le_24000", sse.parts);
seen.sse = { words: sse.words, last: sse.last };

async function connected(found) {
  const socket = await found.tts.websocket();
  socket.on("error", () => {});
  return socket;
}
const socket = await connected(client);
const options = { model_id: "sonic-3", voice, output_format: raw, add_timestamps: true };
async function speak(name, on = socket) {
  const context = on.context(options);
  const hearing = new Heard().all(context.receive());
  for (let i = 0; i < TEXT.length; i += 3) {
    await context.push({ transcript: TEXT.slice(i, i + 3) });
  }
  await context.flush();
  await context.no_more_inputs();
  const heard = await hearing;
  save(`${name}.pcm_s16le_24000`, heard.parts);
  seen[name] = { words: heard.words, last: heard.last, flushes: heard.flushes };
}
await Promise.all(["one", "two", "three"].map((name) => speak(name)));

const long = new Heard();
const id = "long";
const ended = new Promise((resolve) => {
  let before = 0;
  socket.on("event", (event) => {
    if (event.context_id !== id) return;
    long.take(event);
    const bytes = Buffer.concat(long.parts).length;
    if (!before && bytes > 24000) {
      before = bytes;
      socket.cancelContext(id);
    }
    if (event.type === "done") resolve([before, bytes]);
  });
});
await socket.send({ ...request, transcript: LONG, context_id: id });
seen.cancelled = await ended;
await speak("after");

const wrong = socket.context({ ...options, language: "ja" });
try {
  await wrong.push({ transcript: "Hello. " });
  await new Heard().all(wrong.receive());
} catch (error) {
  seen.wrong = error.message;
}
socket.close();
const other = await connected(new AsInBrowsers(over));
await speak("browser", other);
other.close();

try {
  await new Cartesia({ ...over, apiKey: "wrong" }).tts.generate(request);
} catch (error) {
  seen.key = [error.status, error.error?.error_code];
}
console.log(JSON.stringify(seen));
process.exit(0);
