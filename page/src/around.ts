/** What stands around a robot, what it touches, and where it comes nearest to something. */

import {
  BackSide, BufferGeometry, ConeGeometry, CylinderGeometry, DoubleSide, EdgesGeometry, FrontSide, Group, Line, LineBasicMaterial, LineSegments,
  Mesh, MeshBasicMaterial, MeshStandardMaterial, Quaternion, SphereGeometry, Vector3,
} from "three";
import type { Material, Object3D } from "three";
import type { Palette } from "./figure";
import type { Contact, Surrounding } from "./messages";
import type { NearestLinks } from "./protocol";
import { makeShape } from "./shapes";
import type { Meshes } from "./shapes";

const ENDLESS = 20; // of the robot's size: as far as a plane without an end is drawn
const LONGEST = 0.4, SHORTEST = 0.06; // of the robot's size: an arrow
const LONGEST_N = 100; // the force from which on arrows are no longer
const UP = new Vector3(0, 1, 0);

/** Floor, scene and workspace, which stay where they are. */
export class Surroundings {
  readonly group = new Group();
  /** How high the floor is, in m; null where there is none. */
  readonly floor: number | null;

  constructor(all: readonly Surrounding[], palette: Palette, meshes: Meshes, size: number, arrived: (error?: string) => void) {
    this.floor = all.find(({ role }) => role === "floor")?.pose[11] ?? null;
    for (const one of all) {
      const edge = ENDLESS * size;
      const shape = one.kind === "plane" ? { ...one, size: [0, 1].map((side) => Math.min(one.size[side] || edge, edge)) } : one;
      const body = makeShape(shape, () => look(one, palette), meshes, (error) => arrived(error && `${one.name}: its mesh cannot be drawn; ${error}`));
      if (isRoom(one) && body instanceof Mesh) body.add(new LineSegments(new EdgesGeometry(body.geometry, 30), new LineBasicMaterial({ color: colourOf(one, palette) })));
      body.name = one.name;
      this.group.add(body);
    }
  }

  dispose(): void {
    dispose(this.group);
  }
}

/** Whether it is no thing, but a place where the robot may be, or may not. */
function isRoom({ role }: Surrounding): boolean {
  return role === "forbidden" || role === "allowed";
}

function colourOf({ role }: Surrounding, palette: Palette): string {
  return role === "forbidden" ? palette.over : role === "allowed" ? palette.allowed : role === "floor" ? palette.grid : palette.bodyDark;
}

function look(one: Surrounding, palette: Palette): Material {
  const color = colourOf(one, palette);
  // From inside of where the robot may be, its walls alone are seen.
  if (one.role === "allowed") return new MeshBasicMaterial({ color, transparent: true, opacity: 0.05, depthWrite: false, side: BackSide });
  // Who looks from behind a forbidden plane sees the robot, and no veil over all.
  if (one.role === "forbidden") return new MeshBasicMaterial({ color, transparent: true, opacity: 0.2, depthWrite: false, side: one.kind === "plane" ? FrontSide : DoubleSide });
  // Behind the grid, which lies in the floor.
  if (one.role === "floor") return new MeshBasicMaterial({ color, transparent: true, opacity: 0.5, side: DoubleSide, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 4, polygonOffsetUnits: 4 });
  const material = new MeshStandardMaterial({ color, roughness: 0.8, side: one.kind === "plane" ? DoubleSide : FrontSide });
  if (one.colour) {
    material.color.setRGB(one.colour[0], one.colour[1], one.colour[2], "srgb");
    material.opacity = one.colour[3];
    material.transparent = material.opacity < 1;
  }
  return material;
}

/** Forces as arrows from where bodies touch, on the robot where only one of them is a link of it. */
export class Arrows {
  readonly group = new Group();
  /** Transparent, so that they are drawn after what one looks through. */
  private readonly material = new MeshBasicMaterial({ depthTest: false, transparent: true });

  /** Show contacts; `size` is the robot's, `links` are its own. Returns whether the picture is another one. */
  show(contacts: readonly Contact[], links: ReadonlySet<string>, size: number): boolean {
    const before = this.group.children.filter(({ visible }) => visible).length;
    while (this.group.children.length < contacts.length) this.group.add(arrow(this.material));
    this.group.children.forEach((one, place) => {
      const contact = contacts[place];
      one.visible = contact !== undefined;
      if (!contact) return;
      const force = new Vector3(...onRobot(contact, links));
      const strength = force.length();
      one.position.set(...contact.position);
      if (strength > 0) one.quaternion.copy(new Quaternion().setFromUnitVectors(UP, force.divideScalar(strength)));
      one.scale.setScalar(size * (SHORTEST + (LONGEST - SHORTEST) * Math.sqrt(Math.min(1, strength / LONGEST_N))));
    });
    return before > 0 || contacts.length > 0;
  }

  setColour(palette: Palette): void {
    this.material.color.set(palette.contact);
  }

  dispose(): void {
    dispose(this.group);
  }
}

/** The force of a contact on the robot; between two links, on the second. */
export function onRobot({ bodies, force }: Contact, links: ReadonlySet<string>): [number, number, number] {
  return links.has(bodies[0]) && !links.has(bodies[1]) ? [-force[0], -force[1], -force[2]] : force;
}

/** One along y, 1 long. */
function arrow(material: Material): Object3D {
  const group = new Group();
  const shaft = new Mesh(new CylinderGeometry(0.025, 0.025, 0.75, 12).translate(0, 0.375, 0), material);
  const head = new Mesh(new ConeGeometry(0.08, 0.25, 16).translate(0, 0.875, 0), material);
  for (const part of [shaft, head]) part.renderOrder = 2;
  return group.add(shaft, head);
}

/** A line between the two points that come nearest to each other, seen through all else. */
export class Gap {
  readonly group = new Group();
  private readonly line = new Line(new BufferGeometry(), new LineBasicMaterial({ depthTest: false, transparent: true }));
  private readonly ends = [0, 1].map(() => new Mesh(new SphereGeometry(1, 20, 12), new MeshBasicMaterial({ depthTest: false, transparent: true })));

  constructor() {
    this.group.add(this.line, ...this.ends);
    this.group.visible = false;
    for (const one of this.group.children) one.renderOrder = 3;
  }

  show(nearest: NearestLinks | null, palette: Palette, size: number): void {
    this.group.visible = nearest !== null;
    if (!nearest) return;
    const points = nearest.points.map((point) => new Vector3().fromArray(point));
    this.line.geometry.setFromPoints(points);
    this.line.geometry.computeBoundingSphere();
    this.ends.forEach((end, place) => {
      end.position.copy(points[place]!);
      end.scale.setScalar(0.008 * size);
    });
    for (const { material } of [this.line, ...this.ends]) material.color.set(gapColour(nearest, palette));
  }

  dispose(): void {
    dispose(this.group);
  }
}

/** Whether it is refused, or warned of, is a matter of the margin. */
export function gapColour({ distance_m, margin_m }: NearestLinks, palette: Palette): string {
  return distance_m < margin_m ? palette.over : palette.near;
}

function dispose(group: Group): void {
  group.traverse((one) => {
    if (!(one instanceof Mesh || one instanceof Line)) return;
    one.geometry.dispose();
    for (const material of [one.material].flat()) material.dispose();
  });
  group.removeFromParent();
}
