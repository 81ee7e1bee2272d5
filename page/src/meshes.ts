/** Readers of mesh files, fetched only where a robot has such files. */

import { Mesh } from "three";
import type { Object3D } from "three";
import { ColladaLoader } from "three/examples/jsm/loaders/ColladaLoader.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { OBJLoader } from "three/examples/jsm/loaders/OBJLoader.js";
import { STLLoader } from "three/examples/jsm/loaders/STLLoader.js";
import type { Shape } from "./protocol";

type Format = NonNullable<Shape["format"]>;

/** Fetch and read one mesh file. */
export async function loadMesh(url: string, format: Format): Promise<Object3D> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: the daemon answers ${response.status}`);
  const content = await response.arrayBuffer();
  try {
    return await parse(content, format);
  } catch (error) {
    throw new Error(`${url}: this ${format} file cannot be drawn; ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function parse(content: ArrayBuffer, format: Format): Promise<Object3D> {
  const text = () => new TextDecoder().decode(content);
  switch (format) {
    case "stl": {
      const geometry = new STLLoader().parse(content);
      geometry.computeVertexNormals(); // many files have zeros for them
      return new Mesh(geometry);
    }
    case "obj": return new OBJLoader().parse(text());
    case "dae": return sceneOf(new ColladaLoader().parse(text(), ""));
    case "gltf":
    case "glb": return sceneOf(await new GLTFLoader().parseAsync(content, ""));
  }
}

function sceneOf(file: { scene: Object3D } | null): Object3D {
  if (!file) throw new Error("it holds no scene");
  return file.scene;
}
