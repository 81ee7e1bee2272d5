/** The way to the daemon: reports by WebSocket, requests by it too, and by HTTP where it does not answer. */

import type { Answer, Daemon, Hello, Message, Telemetry } from "./messages";
import type { Report } from "./protocol";
import { readTelemetry } from "./messages";
import { STOPS } from "./protocol";

export type Link = "connecting" | "connected" | "lost" | "login";

export interface Listener {
  link(link: Link): void;
  hello(hello: Hello): void;
  daemon(daemon: Daemon): void;
  report(report: Report): void;
  telemetry(telemetry: Telemetry): void;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 3000;
const SILENT_MS = 6000; // diagnostics come each second
const BEAT_MS = 400; // several within the shortest time that a daemon commonly waits
const STOP_AGAIN_MS = 700;
const STOP_FAILED_MS = 3000; // then whoever pressed it has to know that it was not received
const ANSWER_MS = 35_000;



/** Keeps a WebSocket open, and opens another when it is lost. */
export class Connection {
  private socket: WebSocket | null = null;
  private waitMs = FIRST_WAIT_MS;
  private receivedMs = 0;
  private count = 0;
  private timer = 0;
  private looksAt = "";
  private readonly waiting = new Map<number, (answer: Answer) => void>();

  constructor(private readonly listener: Listener) {
    setInterval(() => this.watch(), 1000);
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
    this.receivedMs = performance.now();
    socket.onmessage = ({ data }) => this.receive(data);
    socket.onclose = () => this.close(socket);
  }

  /**
   * Send a request and wait for its answer.
   *
   * A stop that is not answered at once is sent again by HTTP; each of the two stops.
   */
  async ask(robot: string, verb: string, body: object = {}): Promise<Answer> {
    const whole = { ...body, transaction: newTransaction() };
    if (this.socket?.readyState !== WebSocket.OPEN) return post(robot, verb, whole);
    const answer = this.askBySocket(robot, verb, whole);
    if (!STOPS.has(verb)) return answer;
    const again = new Promise<Answer>((resolve) => {
      const timer = setTimeout(() => resolve(post(robot, verb, whole)), STOP_AGAIN_MS);
      answer.then(({ code }) => code !== "OFFLINE" && clearTimeout(timer));
    });
    return Promise.race([answer.then((first) => (first.code === "OFFLINE" ? again : first)), again]);
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
      this.waiting.set(id, done);
      this.socket!.send(JSON.stringify({ id, robot, verb, body }));
    });
  }

  private receive(data: string | ArrayBuffer): void {
    this.receivedMs = performance.now();
    if (typeof data !== "string") {
      const telemetry = readTelemetry(data);
      if (telemetry) this.listener.telemetry(telemetry);
      return;
    }
    const message = JSON.parse(data) as Message;
    if ("hello" in message) {
      this.waitMs = FIRST_WAIT_MS;
      this.listener.hello(message.hello);
      this.listener.link("connected");
    } else if ("answer" in message) {
      this.waiting.get(Number(message.id))?.(message.answer);
    } else if ("daemon" in message) {
      this.listener.daemon(message.daemon);
    } else {
      this.listener.report(message);
    }
  }

  private watch(): void {
    if (this.socket && performance.now() - this.receivedMs > SILENT_MS) this.close(this.socket);
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
    for (const done of [...this.waiting.values()]) done(unanswered("request", "the connection was lost"));
    void this.findOut();
  }

  /** A browser does not report why a WebSocket failed; an HTTP request does. */
  private async findOut(): Promise<void> {
    const status = await fetch("/api/robots").then((response) => response.status, () => 0);
    if (this.socket) return;
    this.listener.link(status === 401 ? "login" : "lost");
    if (status === 401) return;
    this.timer = window.setTimeout(() => this.connect(), this.waitMs);
    this.waitMs = Math.min(2 * this.waitMs, LONGEST_WAIT_MS);
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
  return answerOf(fetch(url, { method: "POST", headers, body: file }), `upload of ${file.name}`);
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
