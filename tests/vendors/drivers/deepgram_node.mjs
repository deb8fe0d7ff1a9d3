// Drives @deepgram/sdk in Node: `deepgram_node.mjs HTTP_URL WS_URL KEY FOLDER PLAN`.
// See deepgram_python.py for PLAN and for what is printed.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DeepgramClient } from "@deepgram/sdk";

const [HTTP, WS, KEY, FOLDER, PLAN] = process.argv.slice(2);
const { sentences: SENTENCES, long: LONG } = JSON.parse(PLAN);
const found = {};

const client = (apiKey = KEY) =>
  new DeepgramClient({
    apiKey,
    environment: { base: HTTP, production: WS, agent: WS, agentRest: HTTP },
  });

const pieces = (text) => text.match(/.{1,4}/gs);
const bytesOf = async (data) =>
  Buffer.from(data instanceof Blob ? await data.arrayBuffer() : data);

async function opened(socket) {
  socket.connect();
  await socket.waitForOpen();
  return socket[Symbol.asyncIterator]();
}

/** Messages up to the first that `isLast` likes, or to the end; sound is added to `sound`. */
async function until(messages, sound, isLast) {
  const seen = [];
  for (;;) {
    const { value, done } = await messages.next();
    if (done) return seen;
    const text = typeof value === "string" ? JSON.parse(value) : value;
    if (text?.type === undefined || text instanceof Blob) {
      sound.push(await bytesOf(value));
      if (isLast(null, sound)) return seen;
    } else {
      seen.push(text);
      if (isLast(text.type, sound)) return seen;
    }
  }
}

const size = (sound) => sound.reduce((sum, part) => sum + part.length, 0);
const save = (name, sound) => writeFileSync(join(FOLDER, name), Buffer.concat(sound));

async function v1() {
  const query = { model: "aura-2-thalia-en", encoding: "linear16", sample_rate: 24000 };
  const socket = await client().speak.v1.createConnection({ ...query, reconnectAttempts: 0 });
  const messages = await opened(socket);
  const [turns, before, after] = [[], [], []];
  let seen = [];
  for (const sentence of SENTENCES) {
    for (const text of pieces(sentence)) socket.sendText({ type: "Speak", text });
    socket.sendFlush({ type: "Flush" });
    seen = seen.concat(await until(messages, turns, (type) => type === "Flushed"));
  }
  save("node-v1", turns);
  socket.sendText({ type: "Speak", text: LONG });
  socket.sendFlush({ type: "Flush" });
  await until(messages, before, (_, sound) => size(sound) > 4800);
  socket.sendClear({ type: "Clear" });
  seen = seen.concat(await until(messages, before, (type) => type === "Cleared"));
  socket.sendText({ type: "Speak", text: SENTENCES[0] });
  socket.sendFlush({ type: "Flush" });
  seen = seen.concat(await until(messages, after, (type) => type === "Flushed"));
  save("node-v1-after-clear", after);
  socket.sendClose({ type: "Close" });
  found.v1 = seen.map((message) => message.type);
  socket.close();
}

async function v2() {
  const query = { model: "flux-alexis-en", encoding: "linear16", sample_rate: 24000 };
  const socket = await client().speak.v2.createConnection({ ...query, reconnectAttempts: 0 });
  const messages = await opened(socket);
  const [turn, rest] = [[], []];
  for (const text of pieces(SENTENCES[1])) socket.sendSpeak({ type: "Speak", text });
  socket.sendFlush({ type: "Flush" });
  let seen = await until(messages, turn, (type) => type === "SpeechMetadata");
  save("node-v2", turn);
  const spokenMs = seen.at(-1).audio_duration_ms;
  socket.sendSpeak({ type: "Speak", text: LONG });
  socket.sendFlush({ type: "Flush" });
  await until(messages, rest, (_, sound) => size(sound) > 48 * 1500);
  const playback_offset = { type: "time_ms", value: spokenMs + 1200 };
  socket.sendInterrupt({ type: "Interrupt", playback_offset });
  seen = seen.concat(await until(messages, rest, (type) => type === "SpeechInterrupted"));
  socket.sendClose({ type: "Close" });
  seen = seen.concat(await until(messages, rest, (type) => type === "SessionMetadata"));
  found.v2 = seen;
  socket.close();
}

async function rest() {
  for (const [name, query] of Object.entries({
    "node.mp3": {},
    "node.wav": { encoding: "linear16", container: "wav" },
    "node.opus": { encoding: "opus" },
  })) {
    const answer = await client().speak.v1.audio.generate({ text: SENTENCES[0], ...query });
    writeFileSync(join(FOLDER, name), Buffer.from(await answer.arrayBuffer()));
  }
  try {
    await client("wrong").speak.v1.audio.generate({ text: "Hello." });
  } catch (error) {
    found["rest-wrong-key"] = [error.statusCode, error.body];
  }
}

await v1();
await v2();
await rest();
console.log(JSON.stringify(found));
process.exit(0);
