// OpenAI's JavaScript SDK in Node: `node openai_node.mjs HTTP KEY FOLDER`.
// Prints what it saw as one JSON object; sound goes into files of FOLDER.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import tls from "node:tls";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import selfsigned from "selfsigned";

const TEXT = "The ship sails in the morning. We had soup and bread for lunch.";
const LONG = "It was a long and quiet day by the sea. ".repeat(24);
const FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"];
const COMMON = { model: "tts-1", voice: "alloy" };

const [http, apiKey, folder] = process.argv.slice(2);
const client = new OpenAI({ apiKey, baseURL: `${http}/v1`, maxRetries: 0 });
const keep = (name, data) => fs.writeFileSync(path.join(folder, name), Buffer.from(data));

async function whole() {
  for (const response_format of FORMATS) {
    const speech = await client.audio.speech.create({ ...COMMON, input: TEXT, response_format });
    keep(`whole.${response_format}`, await speech.arrayBuffer());
  }
  const hinted = await client.audio.speech.create({
    ...COMMON, input: TEXT, response_format: "wav", instructions: "Speak calmly.", language: "en",
    speed: null, user: "me",
  });
  keep("hinted.wav", await hinted.arrayBuffer());
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  const model = (await client.models.retrieve("tts-1")).id;
  return { models, model, ignored: hinted.headers.get("x-voice-gateway-ignored") };
}

async function streamed() {
  const started = performance.now();
  const speech = await client.audio.speech.create({ ...COMMON, input: LONG, response_format: "wav" });
  let first = 0, bytes = 0;
  for await (const piece of speech.body) {
    first ||= (performance.now() - started) / 1000;
    bytes += piece.length;
  }
  return { first_s: first, last_s: (performance.now() - started) / 1000, bytes };
}

async function aborted() {
  const control = new AbortController();
  const speech = await client.audio.speech.create(
    { ...COMMON, input: LONG, response_format: "pcm" }, { signal: control.signal });
  try {
    for await (const piece of speech.body) control.abort();
  } catch (error) {
    return error.name;
  }
}

async function events() {
  const speech = await client.audio.speech.create(
    { ...COMMON, input: TEXT, response_format: "pcm", stream_format: "sse" });
  const all = (await speech.text()).trim().split("\n\n").map((line) => JSON.parse(line.slice(6)));
  keep("events.pcm", Buffer.concat(all.slice(0, -1).map((e) => Buffer.from(e.audio, "base64"))));
  return all.at(-1).type;
}

async function errors() {
  const seen = {};
  const tries = { voice: { voice: "nobody" }, empty: { input: "" }, speed: { speed: 9 } };
  for (const [name, fields] of Object.entries(tries)) {
    try {
      await client.audio.speech.create({ ...COMMON, input: TEXT, ...fields });
    } catch (error) {
      seen[name] = [error.constructor.name, error.code, error.param];
    }
  }
  return seen;
}

// The SDK's Realtime client insists on TLS; this ends it and hands everything on as it is.
async function secure() {
  const pems = await selfsigned.generate([{ name: "commonName", value: "localhost" }]);
  const target = new URL(http);
  const server = tls.createServer({ key: pems.private, cert: pems.cert }, (outside) => {
    const inside = net.connect(target.port, target.hostname);
    outside.pipe(inside).pipe(outside);
    for (const socket of [inside, outside]) socket.on("error", () => outside.destroy());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

const message = (text) =>
  ({ type: "message", role: "user", content: [{ type: "input_text", text }] });

async function realtime() {
  const proxy = await secure();
  const secured = new OpenAI({ apiKey, baseURL: `https://127.0.0.1:${proxy.address().port}/v1` });
  const rt = new OpenAIRealtimeWS(
    { model: "gpt-realtime", options: { rejectUnauthorized: false } }, secured);
  const seen = { kinds: [] };
  const sound = [[], []];
  let turn = 0, itemId;
  await new Promise((resolve, reject) => {
    rt.on("error", reject);
    rt.on("event", (event) => {
      if (!seen.kinds.includes(event.type)) seen.kinds.push(event.type);
    });
    rt.on("session.created", () => {
      rt.send({ type: "conversation.item.create", item: message(LONG) });
      rt.send({ type: "response.create" });
    });
    rt.on("response.output_audio.delta", (event) => {
      sound[turn].push(Buffer.from(event.delta, "base64"));
      const bytes = sound[0].reduce((sum, piece) => sum + piece.length, 0);
      if (turn === 0 && itemId === undefined && bytes > 48 * 3000) {
        itemId = event.item_id;
        rt.send({ type: "response.cancel" });
        rt.send({
          type: "conversation.item.truncate", item_id: itemId, content_index: 0, audio_end_ms: 2000,
        });
      }
    });
    rt.on("conversation.item.truncated", () => {
      rt.send({ type: "conversation.item.retrieve", item_id: itemId });
    });
    rt.on("conversation.item.retrieved", (event) => {
      seen.heard = event.item.content[0].transcript;
      turn = 1;
      rt.send({ type: "conversation.item.create", item: message(TEXT) });
      rt.send({ type: "response.create" });
    });
    rt.on("response.done", (event) => {
      if (turn === 0) seen.status = event.response.status;
      else resolve();
    });
  });
  rt.close();
  proxy.close();
  keep("again.pcm", Buffer.concat(sound[1]));
  return seen;
}

const seen = {
  ...(await whole()), wav: await streamed(), aborted: await aborted(), last: await events(),
  errors: await errors(), realtime: await realtime(),
};
console.log(JSON.stringify(seen));
process.exit(0);
