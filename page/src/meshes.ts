/** Readers of mesh files, fetched only where a robot has such files. */

import { Mesh } from "three";
import type { Object3D } from "three";
import { ColladaLoader } from "three/examples/jsm/loaders/ColladaLoader.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { OBJLoader } from "three/examples/jsm/loaders/OBJLoader.js";
import { STLLoader } from "three/examples/jsm/loaders/STLLoader.js";
import type { Shape } from "./protocol";

/** Fetch and read one mesh file. */
export async function loadMesh(url: string, format: NonNullable<Shape["format"]>): Promise<Object3D> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: the daemon answers ${response.status}`);
  switch (format) {
    case "stl": return new Mesh(new STLLoader().parse(await response.arrayBuffer()));
    case "obj": return new OBJLoader().parse(await response.text());
    case "dae": return read(new ColladaLoader().parse(await response.text(), ""), url);
    case "gltf":
    case "glb": return read(await new GLTFLoader().parseAsync(await response.arrayBuffer(), ""), url);
  }
}

function read(file: { scene: Object3D } | null, url: string): Object3D {
  if (!file) throw new Error(`${url}: it holds no scene`);
  return file.scene;
}
