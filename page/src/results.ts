/** How the motions of a robot have ended: as the daemon keeps it, and as it is reported. */

import { batch, signal } from "@preact/signals";
import type { Answer } from "./messages";
import type { HistoryAnswer, PastResult, ResultReport } from "./protocol";

/** So many are asked for at a time. */
const A_PAGE = 20;
const FINE = new Set(["SUCCESSFUL", "CANCELED", "PREEMPTED"]);

/** How a motion ended, as far as that was reported, and which motions that waited for its end have not been played. */
export interface Ended {
  result: Pick<ResultReport, "motion" | "message"> & { code: string; recording?: unknown };
  failed: boolean;
  dropped: string[];
}

export function hasFailed(code: string): boolean {
  return !FINE.has(code);
}

/** What is shown once another goal has ended: a posture that is reached does not replace how a motion ended. */
export function endedAfter(last: Ended | null, result: Pick<ResultReport, "motion" | "message" | "code" | "played_s"> | PastResult, isMotion: boolean): Ended | null {
  const failed = hasFailed(result.code);
  if (!failed && result.played_s === null) return last?.failed ? { ...last, dropped: [...last.dropped, result.motion] } : last;
  return failed || isMotion ? { result, failed, dropped: [] } : last;
}

/** Results, and how many each stands for: whoever jogs follows often, and each time is a goal that is told apart by nothing. */
export function folded(results: PastResult[]): { result: PastResult; times: number }[] {
  const lines: { result: PastResult; times: number }[] = [];
  for (const result of results) {
    const last = lines.at(-1);
    if (last && isUsual(last.result) && isUsual(result) && last.result.asked_by === result.asked_by) last.times++;
    else lines.push({ result, times: 1 });
  }
  return lines;
}

function isUsual({ motion, code }: PastResult): boolean {
  return motion === "follow" && code === "SUCCESSFUL";
}

/** The last results that the daemon keeps, newest first; null until they are known. */
export class PastResults {
  readonly list = signal<PastResult[] | null>(null);
  readonly more = signal(false);
  /** Why results may be missing. */
  readonly problem = signal<string | null>(null);
  private timer = 0;

  constructor(private readonly ask: (body: object) => Promise<Answer>) {}

  /** Ask for the newest; a daemon that keeps none refuses. */
  async refresh(): Promise<PastResult[] | null> {
    const answer = await this.take({ limit: A_PAGE });
    if (answer) this.list.value = answer.results;
    return answer && answer.results;
  }

  /** Ask for those before the oldest that is known. */
  async older(): Promise<void> {
    const known = this.list.peek() ?? [];
    const answer = await this.take({ limit: A_PAGE, before: known.at(-1)?.id ?? null });
    if (answer) this.list.value = [...known, ...answer.results];
  }

  /** Ask again soon, once for all that ends together; only where anybody has looked. */
  refreshSoon(): void {
    if (this.list.peek() === null) return;
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      void this.refresh();
    }, 300);
  }

  private async take(body: object): Promise<HistoryAnswer | null> {
    const answer = await this.ask(body);
    if (answer.status !== "ok") return null;
    const data = answer.data as unknown as HistoryAnswer;
    batch(() => {
      this.more.value = data.more;
      this.problem.value = data.problem;
    });
    return data;
  }
}
