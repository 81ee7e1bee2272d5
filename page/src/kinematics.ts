/** Forward kinematics: where a robot's links, joints and frames are, by the same rules as the daemon's. */

import type { JointType, Model, ModelJoint } from "./messages";

/** A pose, 4x4 by rows. */
export type Pose = Float64Array;

type Values = Float64Array;

interface Step {
  key: string;
  hangsOn: string;
  fixed: Pose;
  joint: ModelJoint | null;
}

const BASE = "base ";

/** Works out once in which order the places follow, then gives their poses for one posture after another. */
export class Kinematics {
  private readonly steps: Step[];
  private readonly places = new Map<string, Pose>();
  private readonly byName: Map<string, ModelJoint>;

  constructor(private readonly model: Model) {
    this.byName = new Map(model.joints.map((joint) => [joint.name, joint]));
    this.steps = inOrder(this.unordered());
    this.places.set(BASE, Float64Array.from(model.base_pose));
    for (const step of this.steps) this.places.set(step.key, new Float64Array(16));
  }

  /** Take up a posture: rad or m, by the columns of telemetry; what is NaN stays at zero. */
  move(posture: ArrayLike<number>): void {
    for (const step of this.steps) {
      const pose = this.places.get(step.key)!;
      multiply(this.places.get(step.hangsOn)!, step.fixed, pose);
      if (step.joint?.coordinates.length) {
        const displaced = displacement(step.joint, this.valuesOf(step.joint, posture));
        multiply(Float64Array.from(pose), displaced, pose);
      }
    }
  }

  link(name: string): Pose | undefined {
    return this.places.get(`link ${name}`);
  }

  /** The pose of a place by its name; where several share it, the link's, then the frame's. */
  place(name: string): Pose | undefined {
    return ["link", "frame", "joint"].map((kind) => this.places.get(`${kind} ${name}`)).find(Boolean);
  }

  private valuesOf(joint: ModelJoint, posture: ArrayLike<number>): Values {
    return Float64Array.from(joint.coordinates, (_, number) => this.value(joint, number, posture, 0) / joint.gear_ratio);
  }

  private value(joint: ModelJoint, number: number, posture: ArrayLike<number>, depth: number): number {
    const { column, position } = joint.coordinates[number]!;
    if (column !== null) {
      const measured = posture[column];
      return measured === undefined || Number.isNaN(measured) ? position : measured;
    }
    const followed = joint.mimic && this.byName.get(joint.mimic.of);
    if (!joint.mimic || !followed || followed.coordinates.length === 0 || depth > this.byName.size) return position;
    return joint.mimic.multiplier * this.value(followed, 0, posture, depth + 1) + joint.mimic.offset;
  }

  private unordered(): Step[] {
    const { links, joints, frames } = this.model;
    const linkNames = new Set(links.map((link) => link.name));
    const keyOf = (name: string): string => {
      if (linkNames.has(name)) return `link ${name}`;
      if (this.byName.has(name)) return `joint ${name}`;
      return name === "" || name === "world" ? BASE : `frame ${name}`;
    };
    const carriers = new Map<string, ModelJoint>();
    for (const joint of joints) {
      if (!joint.closes_loop && !carriers.has(joint.child)) carriers.set(joint.child, joint);
    }
    const step = (key: string, hangsOn: string, pose: number[], joint: ModelJoint | null = null): Step => ({
      key, hangsOn, fixed: Float64Array.from(pose), joint,
    });
    return [
      ...joints.map((joint) => step(`joint ${joint.name}`, keyOf(joint.parent), joint.parent_pose, joint)),
      ...links.map((link) => {
        const carrier = carriers.get(link.name);
        return carrier
          ? step(`link ${link.name}`, `joint ${carrier.name}`, carrier.child_pose)
          : step(`link ${link.name}`, keyOf(link.attached_to), link.pose);
      }),
      ...frames.map((frame) => step(`frame ${frame.name}`, keyOf(frame.attached_to), frame.pose)),
    ];
  }
}

/** Order the steps so that each comes after the one it hangs on; what hangs on nothing known is left out. */
function inOrder(unordered: Step[]): Step[] {
  const ordered: Step[] = [];
  const placed = new Set([BASE]);
  let rest = unordered;
  while (rest.length) {
    const ready = rest.filter((step) => placed.has(step.hangsOn));
    if (ready.length === 0) break;
    for (const step of ready) placed.add(step.key);
    ordered.push(...ready);
    rest = rest.filter((step) => !placed.has(step.key));
  }
  return ordered;
}

/** The names of what can be looked at, or moved. */
export function framesOf(model: Model): string[] {
  return [...new Set([...model.frames, ...model.links].map(({ name }) => name))];
}

/** Write a·b into `into`, which may be neither of the two. */
function multiply(a: Pose, b: Pose, into: Pose): Pose {
  for (let row = 0; row < 16; row += 4) {
    for (let column = 0; column < 4; column++) {
      into[row + column] =
        a[row]! * b[column]! + a[row + 1]! * b[4 + column]! + a[row + 2]! * b[8 + column]! + a[row + 3]! * b[12 + column]!;
    }
  }
  return into;
}

/** The pose of a displacement that turns by `turn` (x, y, z, angle) and moves by `shift`. */
function posed(x: number, y: number, z: number, angle: number, shift: readonly number[] = [0, 0, 0]): Pose {
  const sine = Math.sin(angle), versine = 1 - Math.cos(angle);
  return Float64Array.of(
    1 - versine * (y * y + z * z), versine * x * y - sine * z, versine * x * z + sine * y, shift[0]!,
    versine * x * y + sine * z, 1 - versine * (x * x + z * z), versine * y * z - sine * x, shift[1]!,
    versine * x * z - sine * y, versine * y * z + sine * x, 1 - versine * (x * x + y * y), shift[2]!,
    0, 0, 0, 1,
  );
}

function turned(joint: ModelJoint, number: number, angle: number, shift?: readonly number[]): Pose {
  const [x, y, z] = joint.axes[number]!;
  return posed(x, y, z, angle, shift);
}

/** The sum of the first `count` axes, each as long as its value. */
function shifted(joint: ModelJoint, values: Values, count: number): number[] {
  const shift = [0, 0, 0];
  for (let number = 0; number < count; number++) {
    for (let k = 0; k < 3; k++) shift[k]! += values[number]! * joint.axes[number]![k]!;
  }
  return shift;
}

function revolute(joint: ModelJoint, values: Values): Pose {
  return turned(joint, 0, values[0]!);
}

function translational(joint: ModelJoint, values: Values): Pose {
  return posed(1, 0, 0, 0, shifted(joint, values, values.length));
}

function screw(joint: ModelJoint, values: Values): Pose {
  const along = (values[0]! * joint.pitch_m) / (2 * Math.PI);
  return turned(joint, 0, values[0]!, joint.axes[0]!.map((part) => part * along));
}

/** Turn about each axis in its turn, each carried along by those before it. */
function inTurn(joint: ModelJoint, values: Values): Pose {
  let pose = turned(joint, 0, values[0]!);
  for (let number = 1; number < values.length; number++) {
    pose = multiply(pose, turned(joint, number, values[number]!), new Float64Array(16));
  }
  return pose;
}

/** Turn the parent and the child in a common body; the angles are from that body to each of the two. */
function gearbox(joint: ModelJoint, values: Values): Pose {
  return multiply(turned(joint, 0, -values[0]!), turned(joint, 1, values[1]!), new Float64Array(16));
}

/** Turn about a rotation vector by its length, and move by what follows it. */
function ball(_: ModelJoint, values: Values): Pose {
  const [x, y, z] = values as unknown as [number, number, number];
  const angle = Math.hypot(x, y, z);
  const shift = values.length > 3 ? [values[3]!, values[4]!, values[5]!] : undefined;
  return angle > 0 ? posed(x / angle, y / angle, z / angle, angle, shift) : posed(1, 0, 0, 0, shift);
}

function planar(joint: ModelJoint, values: Values): Pose {
  return turned(joint, 2, values[2]!, shifted(joint, values, 2));
}

const DISPLACEMENTS: Record<Exclude<JointType, "fixed">, (joint: ModelJoint, values: Values) => Pose> = {
  revolute, continuous: revolute, prismatic: translational, screw, universal: inTurn, revolute2: inTurn, gearbox,
  euler: inTurn, ball, free: ball, translational, planar,
};

function displacement(joint: ModelJoint, values: Values): Pose {
  return joint.type === "fixed" ? posed(1, 0, 0, 0) : DISPLACEMENTS[joint.type](joint, values);
}
