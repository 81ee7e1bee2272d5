/** A robot's bodies in the scene, each moved with the link that it belongs to. */

import { Color, DoubleSide, FrontSide, Group, MeshBasicMaterial, MeshStandardMaterial } from "three";
import type { Material, Object3D } from "three";
import type { Kinematics } from "./kinematics";
import { makeShape, matrix } from "./shapes";
import type { Meshes } from "./shapes";
import type { Model, Shape } from "./messages";

/** Colours of the scene, by light and dark. */
export interface Palette {
  ground: string;
  grid: string;
  gridStrong: string;
  body: string;
  bodyDark: string;
  ghost: string;
  near: string;
  over: string;
  path: string;
  allowed: string;
  contact: string;
}

/** One drawing of a robot. */
export class Figure {
  readonly group = new Group();
  private readonly links = new Map<string, Group>();
  private readonly ghosts = new Map<string, MeshBasicMaterial[]>();
  private readonly materials = new Map<number, { material: MeshStandardMaterial; own: Color }[]>();
  private readonly all: Material[] = [];

  constructor(
    private readonly model: Model,
    private readonly palette: Palette,
    private readonly ghost: boolean,
    meshes: Meshes,
    arrived: (error?: string) => void,
  ) {
    const columns = columnsOfLinks(model);
    for (const link of model.links) {
      const group = new Group();
      group.matrixAutoUpdate = false;
      for (const shape of link.shapes) {
        const ready = (error?: string) => arrived(error && `${link.name}: mesh ${shape.mesh} cannot be drawn; ${error}`);
        const dress = (own: Material | null) => this.ghost ? this.ghostly(link.name) : this.material(shape, columns.get(link.name) ?? -1, own);
        const body = makeShape(shape, dress, meshes, ready);
        group.add(body);
      }
      this.links.set(link.name, group);
      this.group.add(group);
    }
  }

  /** Put every link where the kinematics have it. */
  place(kinematics: Kinematics): void {
    for (const [name, group] of this.links) {
      const pose = kinematics.link(name);
      group.visible = pose !== undefined;
      if (pose) group.matrix.copy(matrix(pose));
    }
  }

  /** Colour what a joint carries by the joint's error: 0 is none, 1 all that is tolerated. */
  tint(column: number, share: number): void {
    const amount = Math.min(1, Math.max(0, share));
    for (const { material, own } of this.materials.get(column) ?? []) {
      material.color.copy(own).lerp(new Color(amount > 0.5 ? this.palette.over : this.palette.near), amount < 0.1 ? 0 : 0.35 + 0.65 * amount);
    }
  }

  dispose(): void {
    this.group.traverse((one: Object3D) => "geometry" in one && (one.geometry as { dispose(): void }).dispose());
    for (const material of this.all) material.dispose();
    this.group.removeFromParent();
  }

  /** Let links of a ghost stand out, and no others. */
  point(links: readonly string[], colour: string): void {
    for (const [name, materials] of this.ghosts) {
      const stands = links.includes(name);
      for (const material of materials) {
        material.color.set(stands ? colour : this.palette.ghost);
        material.opacity = stands ? 0.6 : 0.22;
      }
    }
  }

  private ghostly(link: string): Material {
    const material = new MeshBasicMaterial({ color: this.palette.ghost, transparent: true, opacity: 0.22, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 });
    this.ghosts.set(link, [...(this.ghosts.get(link) ?? []), material]);
    return this.kept(material);
  }

  /** The colour of the description, else the mesh file's, else one that tells links from the ground. */
  private material(shape: Shape, column: number, file: Material | null): Material {
    const { colour } = shape;
    const look = { roughness: 0.62, metalness: 0.12, side: shape.kind === "plane" ? DoubleSide : (file?.side ?? FrontSide) };
    const material = new MeshStandardMaterial(look);
    if (colour) {
      material.color.setRGB(colour[0], colour[1], colour[2], "srgb");
      material.opacity = colour[3];
    } else if (file?.userData["isOfFile"]) {
      const { color, map, vertexColors, opacity } = file as MeshStandardMaterial;
      Object.assign(material, { map, vertexColors, opacity: opacity || 1 }); // by some programs, 0 is opaque
      material.color.copy(color);
    } else material.color.set(this.model.derived && isHousing(shape) ? this.palette.bodyDark : this.palette.body);
    material.transparent = material.opacity < 1;
    this.materials.set(column, [...(this.materials.get(column) ?? []), { material, own: material.color.clone() }]);
    return this.kept(material);
  }

  private kept<One extends Material>(material: One): One {
    this.all.push(material);
    return material;
  }
}

/** Whether a derived shape is an actuator's housing rather than a strut. */
function isHousing({ kind, size }: Shape): boolean {
  const [radius = 0, length = 0] = size;
  return kind === "sphere" || (kind === "cylinder" && length < 3.5 * radius);
}

/** The column of the joint that moves each link, by the link's name. */
function columnsOfLinks(model: Model): Map<string, number> {
  const links = new Map(model.links.map((link) => [link.name, link]));
  const joints = new Map(model.joints.map((joint) => [joint.name, joint]));
  const frames = new Map(model.frames.map((frame) => [frame.name, frame]));
  const carriers = new Map(model.joints.filter((joint) => !joint.closes_loop).map((joint) => [joint.child, joint]));
  const found = new Map<string, number>();
  for (const link of model.links) {
    let name = link.name;
    for (let steps = 0; steps < 1000; steps++) {
      const joint = carriers.get(name) ?? (links.has(name) ? undefined : joints.get(name));
      const column = joint?.coordinates.find((one) => one.column !== null)?.column;
      if (column !== undefined && column !== null) {
        found.set(link.name, column);
        break;
      }
      const next = joint?.parent ?? links.get(name)?.attached_to ?? frames.get(name)?.attached_to;
      if (!next || next === "world") break;
      name = next;
    }
  }
  return found;
}
