// `@elevenlabs/elevenlabs-js` against a gateway: node elevenlabs_node.mjs BASE KEY FOLDER
// Prints what it saw as one JSON object; sound goes into files of FOLDER.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ElevenLabsClient } from "@elevenlabs/elevenlabs-js";

const TEXT = "Please open the window in the kitchen. We had soup and bread for lunch.";
const VOICE = "21m00Tcm4TlvDq8ikWAM";
const [base, key, folder] = process.argv.slice(2);
const client = new ElevenLabsClient({ baseUrl: base, apiKey: key, maxRetries: 0 });
const speech = client.textToSpeech;

async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(Buffer.from(part));
  return parts;
}

const seen = {};
seen.voices = (await client.voices.getAll()).voices.map((voice) => voice.voiceId);
seen.search = (await client.voices.search({ pageSize: 2 })).voices.map((voice) => voice.name);
seen.models = (await client.models.list()).map((model) => model.modelId);

const formats = { mp3_44100_128: "mp3_44100_128", pcm_16000: "pcm_16000", ulaw_8000: "ulaw_8000" };
for (const outputFormat of Object.keys(formats)) {
  const parts = await collect(await speech.convert(VOICE, { text: TEXT, outputFormat }));
  writeFileSync(join(folder, `convert.${outputFormat}`), Buffer.concat(parts));
}

const request = {
  text: TEXT,
  modelId: "eleven_flash_v2_5",
  outputFormat: "pcm_24000",
  voiceSettings: { stability: 0.5, similarityBoost: 0.7, speed: 1.1 },
};
const streamed = await collect(await speech.stream(VOICE, request));
seen.streamChunks = streamed.length;
writeFileSync(join(folder, "stream.pcm_24000"), Buffer.concat(streamed));

const whole = await speech.convertWithTimestamps(VOICE, { text: TEXT, outputFormat: "pcm_24000" });
writeFileSync(join(folder, "timed.pcm_24000"), Buffer.from(whole.audioBase64, "base64"));
seen.timed = {
  chars: whole.alignment.characters,
  starts: whole.alignment.characterStartTimesSeconds,
  ends: whole.alignment.characterEndTimesSeconds,
};

const sound = [];
seen.timedStream = [];
for await (const part of await speech.streamWithTimestamps(VOICE, {
  text: TEXT,
  outputFormat: "pcm_24000",
})) {
  sound.push(Buffer.from(part.audioBase64, "base64"));
  if (part.alignment) {
    seen.timedStream.push({
      chars: part.alignment.characters,
      starts: part.alignment.characterStartTimesSeconds,
      ends: part.alignment.characterEndTimesSeconds,
    });
  }
}
writeFileSync(join(folder, "timed_stream.pcm_24000"), Buffer.concat(sound));

const abort = new AbortController();
const long = await speech.stream(VOICE, { text: TEXT.repeat(20) }, { abortSignal: abort.signal });
seen.firstPiece = 0;
try {
  for await (const part of long) {
    seen.firstPiece = part.length;
    abort.abort();
    break;
  }
} catch (error) {
  seen.aborted = error.name;
}

try {
  await new ElevenLabsClient({ baseUrl: base, apiKey: "wrong", maxRetries: 0 }).textToSpeech.convert(
    VOICE,
    { text: TEXT },
  );
} catch (error) {
  seen.keyError = error.statusCode;
}
console.log(JSON.stringify(seen));
