/** What the page needs of a browser, on node: sockets that never leave the test, and timers that it moves. */

import { mock } from "node:test";

/** A WebSocket whose other end is the test. */
export class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  binaryType = "";
  bufferedAmount = 0;
  sent: Record<string, any>[] = [];
  frames: DataView[] = [];
  onmessage: ((event: { data: string | ArrayBuffer }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  static get last(): FakeSocket {
    return FakeSocket.all.at(-1)!;
  }

  /** The requests that were sent, without what is sent at each beat. */
  get requests(): Record<string, any>[] {
    return this.sent.filter((message) => "verb" in message);
  }

  send(data: string | ArrayBuffer): void {
    if (typeof data === "string") this.sent.push(JSON.parse(data));
    else this.frames.push(new DataView(data));
  }

  /** Answer the newest request. */
  answer(data: object): void {
    this.receive({ id: this.requests.at(-1)!["id"], answer: { status: "ok", data } });
  }

  close(): void {
    this.readyState = 3;
  }

  /** Be connected to a daemon whose clock is ahead of this one by so many s. */
  greet(aheadS = 0): void {
    this.readyState = FakeSocket.OPEN;
    this.receive({ hello: { version: 1, id: "bench", instance: "1", robots: ["arm"] } });
    this.beat(aheadS);
  }

  beat(aheadS = 0): void {
    this.receive({ daemon: { clients: ["127.0.0.1"], broker: "connected", time: Date.now() / 1000 + aheadS } });
  }

  receive(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  /** Be closed by the daemon. */
  lose(): void {
    this.readyState = 3;
    this.onclose?.();
  }
}

/** Requests by HTTP: the address, and what it is answered with; nothing comes unless the test says so. */
export const asked: { url: string; answer: (status: number, body?: object) => void }[] = [];

export function startBrowser(): void {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_764_000_000_000 });
  FakeSocket.all = [];
  asked.length = 0;
  const fetch = (url: string) =>
    new Promise((resolve) => asked.push({ url, answer: (status, body = {}) => resolve({ status, ok: status === 200, json: async () => body }) }));
  const page = new EventTarget();
  const events = { addEventListener: page.addEventListener.bind(page), removeEventListener: page.removeEventListener.bind(page) };
  const browser = { WebSocket: FakeSocket, fetch, location: { protocol: "http:", host: "bench", hash: "" }, ...events, dispatchEvent: page.dispatchEvent.bind(page) };
  Object.defineProperty(globalThis, "navigator", { value: { userAgent: "node" }, configurable: true });
  Object.assign(globalThis, { ...browser, window: globalThis, document: { hidden: false, ...events } });
}

export function endBrowser(): void {
  mock.timers.reset();
}

/** Let time pass in steps in which all that is due happens, and what is awaited by then. */
export async function pass(ms: number, stepMs = 50): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    mock.timers.tick(Math.min(stepMs, ms - passed));
    await settle();
  }
}

/** Let what has come be awaited. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

/** Let the machine sleep: time passes, and nothing happens meanwhile. */
export function sleep(ms: number): void {
  mock.timers.setTime(Date.now() + ms);
}
