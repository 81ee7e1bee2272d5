/** Files of motions, dropped anywhere on a robot's page or chosen: each is checked, and all that was found is shown. */

import { signal } from "@preact/signals";
import { upload } from "./connection";
import { clock } from "./format";
import type { Answer } from "./messages";
import { refusal } from "./permission";
import type { ListedMotion } from "./protocol";
import { href } from "./route";
import { fleet, notify } from "./store";
import type { Robot } from "./store";

/** The whole answer about a file. */
export interface Upload {
  file: string;
  ok: boolean;
  text: string;
}

/** Whether a file is held over the page. */
export const dropsOver = signal(false);

export function takesFiles(robot: Robot): boolean {
  return Boolean(robot.description.value?.upload) && !fleet.value;
}

/** Send what is dropped, and show the motions, where its report is. */
export function drop(files: FileList, robot: Robot): void {
  location.hash = href(robot.name, "motions");
  void send(robot, files);
}

async function send(robot: Robot, files: FileList): Promise<void> {
  const all = [...files]; // the list is empty once its input is
  if (!all.length) return;
  const why = refusal(robot, "command") || (robot.isUploading.peek() ? "The files before are being checked" : "");
  if (why) return notify(`${why}; nothing was sent.`);
  robot.uploads.value = [];
  robot.isUploading.value = true;
  for (const file of all) {
    const answer = await upload(robot.name, file, await robot.control.proof());
    robot.uploads.value = [...robot.uploads.peek(), uploadOf(file.name, answer)];
  }
  robot.isUploading.value = false;
}

/** Send what is chosen; a file that is corrected may be chosen again. */
function choose(robot: Robot, input: HTMLInputElement): void {
  void send(robot, input.files!);
  input.value = "";
}

/** All of an answer: its error, and of each motion in the file what it holds, why it is refused, and its warnings. */
function uploadOf(file: string, answer: Answer): Upload {
  const motions = (answer.data?.["motions"] ?? []) as ListedMotion[];
  const lines = motions.flatMap((motion) => [
    `${motion.name}: ${clock(motion.duration)}, ${motion.joints?.length ?? 0} joints${motion.ok ? "" : ", cannot be played"}`,
    ...(motion.reason ? [motion.reason] : []),
    ...(motion.warnings ?? []),
  ]);
  const report = [answer.error ?? "", ...lines].join("\n").split("\n").filter(Boolean);
  return { file, ok: answer.status === "ok", text: [...new Set(report)].join("\n") };
}

export function Upload({ robot }: { robot: Robot }) {
  if (!takesFiles(robot)) return null;
  const busy = robot.isUploading.value;
  return (
    <div class="upload">
      <label>
        <span>{busy ? "Being checked…" : "Drop motion files anywhere, or choose"}</span>
        <input type="file" multiple accept={robot.description.value?.motion_suffixes?.join()} disabled={busy} onChange={(event) => choose(robot, event.currentTarget)} />
      </label>
      {robot.uploads.value.map((one) => (
        <div class="report" role="status">
          <strong class={one.ok ? "good" : "bad"}>{one.file}: {one.ok ? "taken" : "refused"}</strong>
          {one.text && <pre>{one.text}</pre>}
        </div>
      ))}
      {robot.uploads.value.length > 0 && !busy && <button class="quiet" onClick={() => (robot.uploads.value = [])}>Close the report</button>}
    </div>
  );
}
