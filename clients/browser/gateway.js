// The native protocol in a browser: JSON events and binary audio frames over one WebSocket.

const SUBPROTOCOL = "voice-gateway.v1";
const HEADER_BYTES = 24;

/** Address of the stream that belongs to the page's own gateway. */
export function streamUrl(location = window.location) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/v1/stream`;
}

/** Split a binary frame into its header's fields and its payload (see PROTOCOL.md). */
export function parseFrame(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER_BYTES || view.getUint8(0) !== 1 || view.getUint8(1) !== 1) {
    return null;
  }
  return {
    last: (view.getUint16(2) & 1) === 1,
    number: view.getUint32(4),
    generation: view.getUint32(8),
    sequence: view.getUint32(12),
    timestampSamples: Number(view.getBigUint64(16)),
    payload: buffer.slice(HEADER_BYTES),
  };
}

/**
 * One session. Dispatches `message` (detail: a JSON event), `audio` (detail: a frame) and
 * `closed` (detail: {code, reason}).
 */
export class Gateway extends EventTarget {
  #socket;

  constructor(url, key) {
    super();
    const protocols = key ? [SUBPROTOCOL, `bearer.${key}`] : [SUBPROTOCOL];
    this.#socket = new WebSocket(url, protocols);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.onmessage = (event) => this.#take(event.data);
    this.#socket.onclose = (event) =>
      this.#emit("closed", { code: event.code, reason: event.reason });
  }

  get open() {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  send(type, fields) {
    if (this.open) this.#socket.send(JSON.stringify({ type, ...fields }));
  }

  close() {
    this.#socket.close();
  }

  #take(data) {
    if (typeof data === "string") {
      this.#emit("message", JSON.parse(data));
      return;
    }
    const frame = parseFrame(data);
    if (frame) this.#emit("audio", frame);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
