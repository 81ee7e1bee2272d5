/** The way to the daemon: reports by WebSocket, requests by it too, and by HTTP where it does not answer. */

import type { Answer, Daemon, Hello, Message, Telemetry } from "./messages";
import type { Report } from "./protocol";
import { readTelemetry } from "./messages";
import { STOPS } from "./protocol";

export type Link = "connecting" | "connected" | "lost" | "login";

export interface Listener {
  /** `sinceMs` is the Unix time in ms of the last message, where the connection is lost. */
  link(link: Link, sinceMs: number): void;
  hello(hello: Hello): void;
  daemon(daemon: Daemon): void;
  report(report: Report): void;
  telemetry(telemetry: Telemetry): void;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 3000;
const WATCH_MS = 250;
const STOOD_STILL_MS = 1000; // the page itself, busy or asleep: what waits in the socket comes first
const SILENT_MS = 2500; // something comes each second
const BEAT_MS = 400; // several within the shortest time that a daemon commonly waits
const STOP_AGAIN_MS = 700;
const STOP_FAILED_MS = 3000; // then whoever pressed it has to know that it was not received
const ANSWER_MS = 35_000;
const MOST_UNSENT_BYTES = 4000; // more than a second of targets
const LOGIN_MS = 3000;
const UPLOAD_MS = 120_000; // 32 MB over a slow network

/** Keeps a WebSocket open, and opens another when it is lost. */
export class Connection {
  private socket: WebSocket | null = null;
  private waitMs = FIRST_WAIT_MS;
  private receivedMs = 0;
  private watchedMs = Date.now();
  private judgedMs = 0;
  private wasConnected = false;
  /** How far the daemon's clock is ahead of this one, in ms; null until the daemon has sent its time. */
  private aheadMs: number | null = null;
  private latestS = 0;
  private count = 0;
  private timer = 0;
  private looksAt = "";
  private readonly waiting = new Map<number, { verb: string; done: (answer: Answer) => void }>();

  constructor(private readonly listener: Listener) {
    setInterval(() => this.watch(), WATCH_MS);
    setInterval(() => this.beat(), BEAT_MS);
    // A phone that wakes up does not wait for the next try.
    addEventListener("online", () => this.connect());
    document.addEventListener("visibilitychange", () => document.hidden || this.connect());
  }

  connect(): void {
    if (this.socket) return;
    clearTimeout(this.timer);
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/ws`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.receivedMs = Date.now();
    socket.onmessage = ({ data }) => this.receive(data);
    socket.onclose = () => this.close(socket);
  }

  /**
   * Send a request and wait for its answer.
   *
   * A stop that is not answered at once is sent again by HTTP; each of the two stops. What is no stop expires
   * when the connection would be marked as lost: a daemon that stood still does not act on it afterwards. Once
   * it is lost, it is not sent at all.
   */
  async ask(robot: string, verb: string, body: object = {}): Promise<Answer> {
    const stops = STOPS.has(verb);
    const whole = { ...body, transaction: newTransaction(), ...(stops ? {} : this.expiry()) };
    if (this.socket?.readyState !== WebSocket.OPEN) return stops ? post(robot, verb, whole) : unanswered(verb, "the connection is lost; nothing was sent");
    const answer = this.askBySocket(robot, verb, whole);
    if (!stops) return answer;
    const again = new Promise<Answer>((resolve) => {
      const timer = setTimeout(() => resolve(post(robot, verb, whole)), STOP_AGAIN_MS);
      answer.then(({ code }) => code !== "OFFLINE" && clearTimeout(timer));
    });
    return Promise.race([answer.then((first) => (first.code === "OFFLINE" ? again : first)), again]);
  }

  /** When a request is no longer to be acted on, by the daemon's clock: when the connection is lost if nothing more comes. */
  expiry(): { expires_at?: number } {
    return this.aheadMs === null ? {} : { expires_at: (this.receivedMs + this.aheadMs + SILENT_MS) / 1000 };
  }

  /** Send a target; false where the network does not take it, which must not come late. */
  send(frame: ArrayBuffer): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN || this.socket.bufferedAmount > MOST_UNSENT_BYTES) return false;
    this.socket.send(frame);
    return true;
  }

  /** Unix time in s by the daemon's clock, as far as it is known, and never less than before. */
  timeS(): number {
    this.latestS = Math.max(this.latestS, (Date.now() + (this.aheadMs ?? 0)) / 1000);
    return this.latestS;
  }

  private askBySocket(robot: string, verb: string, body: object): Promise<Answer> {
    const id = ++this.count;
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(unanswered(verb, "the daemon did not answer")), ANSWER_MS);
      const done = (answer: Answer) => {
        clearTimeout(timer);
        this.waiting.delete(id);
        resolve(answer);
      };
      this.waiting.set(id, { verb, done });
      this.socket!.send(JSON.stringify({ id, robot, verb, body }));
    });
  }

  private receive(data: string | ArrayBuffer): void {
    this.receivedMs = Date.now();
    if (typeof data !== "string") {
      const telemetry = readTelemetry(data);
      if (telemetry) this.listener.telemetry(telemetry);
      return;
    }
    const message = JSON.parse(data) as Message;
    if ("hello" in message) {
      this.waitMs = FIRST_WAIT_MS;
      this.wasConnected = true;
      this.listener.hello(message.hello);
      this.listener.link("connected", this.receivedMs);
    } else if ("answer" in message) {
      this.waiting.get(Number(message.id))?.done(message.answer);
    } else if ("daemon" in message) {
      this.aheadMs = 1000 * message.daemon.time - this.receivedMs;
      this.listener.daemon(message.daemon);
    } else {
      this.listener.report(message);
    }
  }

  /** Mark a silent connection as lost; where this page stood still itself, only after another look. */
  private watch(): void {
    const now = Date.now();
    const passed = now - this.watchedMs;
    this.watchedMs = now;
    if (passed < 0) this.receivedMs = this.judgedMs = now; // the clock was set back
    if (passed > STOOD_STILL_MS) this.judgedMs = now + WATCH_MS;
    if (this.socket && now >= this.judgedMs && now - this.receivedMs > SILENT_MS) this.close(this.socket);
  }

  /** Without a broker, motions play on only while somebody looks on who could stop them. */
  private beat(): void {
    if (this.socket?.readyState !== WebSocket.OPEN || document.hidden) return;
    this.socket.send(JSON.stringify({ watching: true, ...(this.looksAt ? { robot: this.looksAt } : {}) }));
  }

  /** Report which robot is shown, '' for none: where there are many, telemetry comes of that one alone. */
  look(robot: string): void {
    if (robot === this.looksAt) return;
    this.looksAt = robot;
    this.beat();
  }

  private close(socket: WebSocket): void {
    if (this.socket !== socket) return;
    this.socket = null;
    socket.onmessage = null;
    socket.close();
    if (this.wasConnected) this.listener.link("lost", this.receivedMs);
    for (const { verb, done } of [...this.waiting.values()]) done(unanswered(verb, "the connection was lost before an answer came"));
    this.timer = window.setTimeout(() => this.connect(), this.waitMs);
    this.waitMs = Math.min(2 * this.waitMs, LONGEST_WAIT_MS);
    void this.askForLogin();
  }

  /** A browser does not report that a WebSocket was refused for want of a token; an HTTP request does. */
  private async askForLogin(): Promise<void> {
    const signal = AbortSignal.timeout(LOGIN_MS);
    const status = await fetch("/api/robots", { signal }).then((response) => response.status, () => 0);
    if (status !== 401 || this.socket?.readyState === WebSocket.OPEN) return;
    clearTimeout(this.timer);
    if (this.socket) this.socket.onclose = null;
    this.socket?.close();
    this.socket = null;
    this.wasConnected = false;
    this.listener.link("login", this.receivedMs);
  }
}

/** Send a request by HTTP; it is sent even if the page is left meanwhile. */
export async function post(robot: string, verb: string, body: object): Promise<Answer> {
  return answerOf(
    fetch(`/api/robots/${encodeURIComponent(robot)}/${verb}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      keepalive: true,
      signal: AbortSignal.timeout(STOPS.has(verb) ? STOP_FAILED_MS : ANSWER_MS),
    }),
    verb,
  );
}

/** Show the token, for which the daemon gives this browser a cookie. */
export async function login(token: string): Promise<Answer> {
  return answerOf(
    fetch("/api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    }),
    "login",
  );
}

/** Send a motion's file, with what proves control of the robot. */
export async function upload(robot: string, file: File, proof: { lease?: string }): Promise<Answer> {
  const url = `/api/robots/${encodeURIComponent(robot)}/motions/upload?name=${encodeURIComponent(file.name)}`;
  const headers = { "Content-Type": "application/octet-stream", ...(proof.lease ? { "Motiond-Lease": proof.lease } : {}) };
  return answerOf(fetch(url, { method: "POST", headers, body: file, signal: AbortSignal.timeout(UPLOAD_MS) }), `upload of ${file.name}`);
}

async function answerOf(asking: Promise<Response>, verb: string): Promise<Answer> {
  try {
    return (await (await asking).json()) as Answer;
  } catch {
    return unanswered(verb, "the daemon cannot be reached");
  }
}

function unanswered(verb: string, why: string): Answer {
  return { status: "error", code: "OFFLINE", error: `${verb}: ${why}`, data: {} };
}

function newTransaction(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("");
}
