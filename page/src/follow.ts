/** Targets of a robot that follows, as the daemon takes them from a WebSocket: docs/http.md. */

export const VELOCITIES = 2;
export const TWIST = 3;
const HEAD_BYTES = 25;

/** A frame of values, in rad/s or m/s; `goalId` is a UUID in hex, `sentAtS` is Unix time. */
export function targetFrame(kind: typeof VELOCITIES | typeof TWIST, goalId: string, sentAtS: number, values: readonly number[]): ArrayBuffer {
  const frame = new ArrayBuffer(HEAD_BYTES + 8 * values.length);
  const view = new DataView(frame);
  view.setUint8(0, kind);
  for (let place = 0; place < 16; place++) view.setUint8(1 + place, Number.parseInt(goalId.slice(2 * place, 2 * place + 2), 16));
  view.setFloat64(17, sentAtS, true);
  values.forEach((value, place) => view.setFloat64(HEAD_BYTES + 8 * place, value, true));
  return frame;
}
