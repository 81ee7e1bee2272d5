/** Control of a robot, where one client at a time has to have it: what is reported of it, and this page's own lease. */

import { computed, signal } from "@preact/signals";
import type { Answer } from "./messages";
import type { LeaseReport } from "./protocol";

const RENEWALS_A_TTL = 3;
const MOST_RENEWALS = 3; // at once: without a daemon they wait for long

/** The name of this page for others, so that people know where to ask. */
const HOLDER = `Page in ${browser()}, ${crypto.getRandomValues(new Uint16Array(1))[0]!.toString(16).padStart(4, "0")}`;

interface Held {
  lease: string;
  epoch: number;
}

export class Control {
  readonly lease = signal<LeaseReport | null>(null);
  private readonly held = signal<Held | null>(null);
  private readonly acquires = signal(false);
  private acquiring: Promise<Answer> | null = null;
  private renewals = 0;
  private timer = 0;

  constructor(
    private readonly ask: (verb: string, body: object) => Promise<Answer>,
    private readonly lost: (why: string) => void,
  ) {}

  /** Who may command: everyone, this page, no one yet, or another client. */
  readonly who = computed<"all" | "me" | "nobody" | "other">(() => {
    const lease = this.lease.value;
    if (!lease?.required) return "all";
    if (this.held.value || (this.acquires.value && lease.holder === HOLDER)) return "me";
    return lease.holder === null ? "nobody" : "other";
  });

  /** Take a report; reports and answers may overtake each other, and epochs show which is newer. */
  receive(report: LeaseReport): void {
    this.lease.value = report;
    const held = this.held.peek();
    if (!held || report.epoch === null) return;
    if (report.epoch > held.epoch) this.lose(report.holder ? `${report.holder} took control.` : "Control was lost.");
    else if (report.epoch === held.epoch && report.holder === null) this.lose("Control was lost, as the daemon received nothing from this page in time.");
  }

  /** What a command needs to carry; control is acquired for it if no client has it. */
  async proof(): Promise<{ lease?: string }> {
    if (this.acquiring || this.who.peek() === "nobody") await this.acquire();
    return this.ownProof();
  }

  /** The same of control that this page has already; it acquires none. */
  ownProof(): { lease?: string } {
    const held = this.held.peek();
    return held ? { lease: held.lease } : {};
  }

  /** Whether a refused command is worth another try: no client is in control after all. */
  isFree(answer: Answer): boolean {
    if (answer.code !== "NOT_IN_CONTROL" || answer.data["holder"] !== null) return false;
    const lease = this.lease.peek();
    this.keep(null);
    if (lease) this.lease.value = { ...lease, required: true, holder: null };
    return this.who.peek() === "nobody";
  }

  async take(): Promise<Answer> {
    return this.get("lease/take");
  }

  async release(): Promise<void> {
    const lease = this.forget();
    if (lease) await this.ask("lease/release", { lease });
  }

  /** Forget the lease and return it, for whoever leaves the page to give it back. */
  forget(): string | null {
    const held = this.held.peek();
    const lease = this.lease.peek();
    this.keep(null);
    if (held && lease) this.lease.value = { ...lease, holder: null };
    return held?.lease ?? null;
  }

  /** Several commands at once acquire but once. */
  private async acquire(): Promise<Answer> {
    this.acquiring ??= this.get("lease/acquire").finally(() => (this.acquiring = null));
    return this.acquiring;
  }

  private async get(verb: string): Promise<Answer> {
    this.acquires.value = true;
    const answer = await this.ask(verb, { holder: HOLDER });
    if (answer.status === "ok") {
      const { lease, epoch, ttl_s } = answer.data as unknown as Held & { ttl_s: number };
      this.keep({ lease, epoch }, ttl_s);
    }
    this.acquires.value = false;
    return answer;
  }

  private keep(held: Held | null, ttlS = 0): void {
    clearInterval(this.timer);
    this.held.value = held;
    if (held) this.timer = window.setInterval(() => void this.renew(held), (1000 * ttlS) / RENEWALS_A_TTL);
  }

  private async renew(held: Held): Promise<void> {
    if (this.renewals >= MOST_RENEWALS) return;
    this.renewals++;
    const answer = await this.ask("lease/renew", { lease: held.lease });
    this.renewals--;
    if (answer.code === "NOT_IN_CONTROL" && this.held.peek() === held) this.lose("Control was lost.");
  }

  private lose(why: string): void {
    this.keep(null);
    this.lost(why);
  }
}

/** Which browser, on what: as much of it as a person recognizes. */
function browser(): string {
  const agent = navigator.userAgent;
  const first = (names: string[]) => names.find((name) => agent.includes(name));
  const program = first(["Edg", "Firefox", "Chrome", "Safari"]) ?? "a browser";
  const system = first(["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"]);
  return `${program === "Edg" ? "Edge" : program}${system ? ` on ${system}` : ""}`;
}
