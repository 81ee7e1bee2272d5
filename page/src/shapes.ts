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

/**
 * Make a shape's body, where the link has its frame.
 *
 * A mesh is fetched from `meshUrl` and comes later; `arrived` is then called, also where it cannot be had.
 */
export function makeShape(shape: Shape, material: Material, meshUrl: (number: number) => string, arrived: (error?: string) => void): Object3D {
  const body = shape.kind === "mesh" ? new Group() : new Mesh(geometry(shape), material);
  body.matrixAutoUpdate = false;
  body.matrix.copy(matrix(shape.pose));
  body.matrix.scale(new Vector3(...(shape.scale ?? [1, 1, 1])));
  if (shape.kind === "mesh" && shape.mesh !== null && shape.format) {
    const { format, mesh } = shape;
    import("./meshes")
      .then(({ loadMesh }) => loadMesh(meshUrl(mesh), format))
      .then(
        (loaded) => {
          loaded.traverse((one) => one instanceof Mesh && (one.material = material));
          body.add(loaded);
          arrived();
        },
        (error: unknown) => arrived(error instanceof Error ? error.message : String(error)),
      );
  }
  return body;
}
