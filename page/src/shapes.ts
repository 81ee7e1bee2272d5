/** Bodies of links as geometries of three.js; lengths in m. */

import {
  BoxGeometry, BufferGeometry, CapsuleGeometry, CylinderGeometry, Group, Matrix4, Mesh, PlaneGeometry, SphereGeometry,
  Vector3,
} from "three";
import type { Material, Object3D } from "three";
import type { Shape } from "./messages";

/** A 4x4 by rows as three.js holds it. */
export function matrix(pose: ArrayLike<number>): Matrix4 {
  return new Matrix4().fromArray(pose as number[]).transpose();
}

function geometry({ kind, size }: Shape): BufferGeometry {
  const [x = 0.01, y = 0.01, z = 0.01] = size;
  switch (kind) {
    case "box": return new BoxGeometry(x, y, z);
    case "sphere": return new SphereGeometry(x, 28, 18);
    case "cylinder": return new CylinderGeometry(x, x, y, 36).rotateX(Math.PI / 2);
    case "capsule": return new CapsuleGeometry(x, y, 8, 28).rotateX(Math.PI / 2);
    case "plane": return new PlaneGeometry(x, y);
    case "mesh": return new BufferGeometry();
  }
}

/** The meshes of one robot, each fetched and read once for all that is drawn of it. */
export class Meshes {
  private readonly read = new Map<number, Promise<Object3D>>();

  constructor(private readonly url: (number: number) => string) {}

  /** Return a body of a mesh, with the materials of its file; an error has the reason why there is none. */
  async body(number: number, format: NonNullable<Shape["format"]>): Promise<Object3D> {
    const { copyOf, loadMesh } = await import("./meshes");
    if (!this.read.has(number)) this.read.set(number, loadMesh(this.url(number), format));
    return copyOf(await this.read.get(number)!);
  }
}

/**
 * Make a shape's body, where the link has its frame.
 *
 * `dress` returns the material for one of a mesh's file, or for a shape that has none. A mesh comes later;
 * `arrived` is then called, also where it cannot be had.
 */
export function makeShape(shape: Shape, dress: (own: Material | null) => Material, meshes: Meshes, arrived: (error?: string) => void): Object3D {
  const body = shape.kind === "mesh" ? new Group() : new Mesh(geometry(shape), dress(null));
  body.matrixAutoUpdate = false;
  body.matrix.copy(matrix(shape.pose));
  body.matrix.scale(new Vector3(...(shape.scale ?? [1, 1, 1])));
  if (shape.kind === "mesh" && shape.mesh !== null && shape.format) {
    meshes.body(shape.mesh, shape.format).then(
      (loaded) => {
        loaded.traverse((one) => {
          if (one instanceof Mesh) one.material = Array.isArray(one.material) ? one.material.map(dress) : dress(one.material as Material);
        });
        body.add(loaded);
        arrived();
      },
      (error: unknown) => arrived(error instanceof Error ? error.message : String(error)),
    );
  }
  return body;
}
