/** Messages between page and daemon besides those that are made of its code (`protocol`): docs/http.md. */

import type { AvailabilityReport, Refusal, Report, DescribedJoint, ListedMarker, NearestLinks, MotionEffort } from "./protocol";

/** All but the state is reported where the robots are those of many daemons. */
export interface Availability extends AvailabilityReport {
  bridge?: string | null;
  host?: string | null;
  absence?: string;
  since_utc?: string | null;
}

export type Unit = DescribedJoint["unit"];
export type Marker = Pick<ListedMarker, "name" | "time">;

export interface Answer<Data = Record<string, unknown>> {
  status: "ok" | "error";
  code?: Refusal["code"];
  error?: string;
  data: Data;
}

/** Who else looks on, by address, whether requests come by MQTT, too, and the daemon's clock: Unix time in s. */
export interface Daemon {
  clients: string[];
  broker: "connected" | "lost";
  time: number;
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

/** A frame of telemetry; the arrays are as long as the robot has joints, NaN where there is no value. */
export interface Telemetry {
  robot: number;
  stampS: number;
  frame: number;
  reference: Quantities;
  feedback: Quantities;
  /** What has touched since the sample before; missing where the driver does not know. */
  contacts?: Contact[];
}

/** Two bodies that touch: where, in m, and the force of the first on the second, in N; in the world's frame. */
export interface Contact {
  bodies: [string, string];
  position: [number, number, number];
  force: [number, number, number];
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
  const end = HEAD_BYTES + 24 * joints;
  if (data.byteLength < end) return null;
  const array = (place: number) => new Float32Array(data, HEAD_BYTES + 4 * joints * place, joints);
  const side = (first: number) => ({ position: array(first), velocity: array(first + 1), effort: array(first + 2) });
  return {
    robot: view.getUint16(2, true),
    stampS: view.getFloat64(8, true),
    frame: view.getFloat64(16, true),
    reference: side(0),
    feedback: side(3),
    ...(data.byteLength > end && { contacts: JSON.parse(new TextDecoder().decode(new Uint8Array(data, end))) as Contact[] }),
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
  /** Missing where nothing is checked. */
  nearest?: NearestLinks;
  /** Where it is checked. */
  effort?: MotionEffort;
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
  surroundings: Surrounding[];
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

/** What stands around the robot, or where it may not be, or may be alone; its pose is in the world's frame. */
export interface Surrounding extends Shape {
  name: string;
  role: "floor" | "scene" | "forbidden" | "allowed";
}
