/** What the daemon says and is asked, as docs/mqtt.md and docs/page.md describe it. */

export type StateName =
  | "offline" | "idle" | "approaching" | "playing" | "pausing" | "paused" | "stopping" | "estopped" | "fault";

/** All but the state is told where the robots are those of many daemons. */
export interface Availability {
  state: "online" | "offline";
  bridge?: string | null;
  host?: string | null;
  absence?: string;
  since_utc?: string | null;
}

export interface Clock {
  synchronised: boolean;
  estimated_error_s: number | null;
}

export interface State {
  state: StateName;
  torque: boolean;
  estop_latched: boolean;
  message: string;
  motion: string | null;
  goal_id: string | null;
  queued: number;
  sequence: number;
  stamp_utc: string;
  frame?: number;
  time?: number;
  duration?: number;
  progress?: number;
  speed?: number;
  loop?: number;
  loops?: number | null;
  /** Unix time in s. */
  start_at?: number | null;
}

export type Unit = "rad" | "m";

export interface JointInfo {
  name: string;
  unit: Unit;
  lower: number | null;
  upper: number | null;
  velocity: number | null;
  acceleration: number | null;
  effort: number | null;
}

export interface Description {
  joints: JointInfo[];
  actuators: string[];
  model: string | null;
  driver: string;
  poses: Record<string, Record<string, number>>;
  tolerances: { path: Record<string, number | null>; goal: Record<string, number | null> };
  hottest_c: number | null;
  rates: { idle_hz: number; max_hz: number | null };
  version: string;
  upload?: boolean;
  groups?: string[];
}

export interface Marker {
  name: string;
  time: number;
}

export interface MotionInfo {
  name: string;
  file: string;
  ok: boolean;
  duration?: number;
  frame_rate?: number;
  frames?: number;
  joints?: string[];
  holds?: string[];
  markers?: Marker[];
  warnings?: string[];
  uploaded?: boolean;
  max_speed?: number | null;
  reason?: string;
}

export interface Motions {
  motions: MotionInfo[];
  more?: number;
}

export interface Spread {
  p50: number | null;
  p99: number | null;
  max: number | null;
}

export interface Diagnostics {
  ticks: number;
  tick_rate_hz: number | null;
  lateness_s: Spread | null;
  jitter_s: Spread | null;
  write_s: Spread | null;
  read_s: Spread | null;
  missed_deadlines_total?: number;
  driver_errors?: number;
  records_lost?: number;
  temperature_c?: (number | null)[];
  voltage_v?: (number | null)[];
  clock?: Clock | null;
  lateness_histogram?: { up_to_s: number[]; counts: number[] };
}

export interface Result {
  goal_id: string;
  motion: string;
  code: string;
  message: string;
  sequence: number;
  stamp_utc: string;
}

/** Who is in control of a robot; `epoch` grows with each holder. */
export interface Lease {
  required: boolean;
  holder: string | null;
  epoch: number | null;
  expires_at: number | null;
  ttl_s: number;
  takeover: boolean;
}

export interface RobotEvent {
  kind: string;
  message: string;
}

export interface Answer<Data = Record<string, unknown>> {
  status: "ok" | "error";
  code?: string;
  error?: string;
  data: Data;
}

export interface Waiting {
  goal_id: string;
  motion: string;
}

/** Who else looks on, by address, and whether requests are heard by MQTT, too. */
export interface Daemon {
  clients: string[];
  broker: "connected" | "lost";
}

/** `instance` is another after each start of the program that serves the page. */
export interface Hello {
  version: number;
  id: string;
  robots: string[];
  instance: string;
  fleet?: boolean;
}

export type Message =
  | { hello: Hello }
  | { id: number | string | null; answer: Answer }
  | { daemon: Daemon }
  | Report;

export type Report =
  | { robot: string; subject: "availability"; data: Availability }
  | { robot: string; subject: "state"; data: State }
  | { robot: string; subject: "description"; data: Description }
  | { robot: string; subject: "motions"; data: Motions }
  | { robot: string; subject: "lease"; data: Lease }
  | { robot: string; subject: "diagnostics"; data: Diagnostics }
  | { robot: string; subject: "result"; data: Result }
  | { robot: string; subject: "event"; data: RobotEvent };

/** A frame of telemetry; the arrays are as long as the robot has joints, NaN where there is no value. */
export interface Telemetry {
  robot: number;
  stampS: number;
  frame: number;
  reference: Quantities;
  feedback: Quantities;
}

export interface Quantities {
  position: Float32Array;
  velocity: Float32Array;
  effort: Float32Array;
}

const HEAD_BYTES = 24;
const TELEMETRY = 1;

/** Read a binary message; null where it is of a kind that this page does not know. */
export function readTelemetry(data: ArrayBuffer): Telemetry | null {
  const view = new DataView(data);
  if (data.byteLength < HEAD_BYTES || view.getUint8(0) !== TELEMETRY) return null;
  const joints = view.getUint16(4, true);
  if (data.byteLength !== HEAD_BYTES + 24 * joints) return null;
  const array = (place: number) => new Float32Array(data, HEAD_BYTES + 4 * joints * place, joints);
  const side = (first: number) => ({ position: array(first), velocity: array(first + 1), effort: array(first + 2) });
  return {
    robot: view.getUint16(2, true),
    stampS: view.getFloat64(8, true),
    frame: view.getFloat64(16, true),
    reference: side(0),
    feedback: side(3),
  };
}

export interface Near {
  joint: string;
  limit: "position" | "velocity" | "acceleration";
  time: number;
  share: number;
}

/** The planned setpoints of a motion: `positions` has `rows` rows of `joints.length` numbers. */
export interface Plan {
  motion: string;
  rate_hz: number;
  rows: number;
  joints: string[];
  units: Unit[];
  driven: boolean[];
  duration: number;
  markers: Marker[];
  near: Near[];
  positions: Float32Array;
}

/** Read a planned motion: the length of its description, that in JSON, and its positions by rows. */
export function readPlan(data: ArrayBuffer): Plan {
  const length = new DataView(data).getUint32(0, true);
  const about = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Omit<Plan, "positions">;
  return { ...about, positions: new Float32Array(data, 4 + length, about.rows * about.joints.length) };
}

/** What a robot consists of; poses are 4x4 by rows. */
export interface Model {
  name: string;
  links: ModelLink[];
  joints: ModelJoint[];
  frames: ModelFrame[];
  base_pose: number[];
  derived: boolean;
}

export interface ModelLink {
  name: string;
  attached_to: string;
  pose: number[];
  shapes: Shape[];
}

export interface ModelFrame {
  name: string;
  kind: string;
  attached_to: string;
  pose: number[];
}

export type JointType =
  | "fixed" | "revolute" | "continuous" | "prismatic" | "screw" | "universal" | "ball" | "euler"
  | "translational" | "planar" | "free" | "revolute2" | "gearbox";

export interface ModelJoint {
  name: string;
  type: JointType;
  parent: string;
  child: string;
  parent_pose: number[];
  child_pose: number[];
  axes: [number, number, number][];
  gear_ratio: number;
  pitch_m: number;
  closes_loop: boolean;
  coordinates: { name: string; column: number | null; position: number }[];
  mimic: { of: string; multiplier: number; offset: number } | null;
}

export interface Shape {
  kind: "box" | "sphere" | "cylinder" | "capsule" | "plane" | "mesh";
  pose: number[];
  size: number[];
  colour: [number, number, number, number] | null;
  mesh: number | null;
  format: "stl" | "obj" | "gltf" | "glb" | "dae" | null;
  scale: [number, number, number] | null;
}
