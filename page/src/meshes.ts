/** Readers of mesh files, fetched only where a robot has such files. */

import { Camera, Light, Loader, LoadingManager, Mesh, Object3D } from "three";
import type { MeshStandardMaterial } from "three";
import { ColladaLoader } from "three/examples/jsm/loaders/ColladaLoader.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { OBJLoader } from "three/examples/jsm/loaders/OBJLoader.js";
import { STLLoader } from "three/examples/jsm/loaders/STLLoader.js";
import { clone } from "three/examples/jsm/utils/SkeletonUtils.js";
import type { Answer, Shape } from "./messages";

type Format = NonNullable<Shape["format"]>;

const NAMES: Record<Format, string> = { stl: "STL", obj: "OBJ", dae: "COLLADA", gltf: "glTF", glb: "GLB" };

/** Another body of the same triangles. */
export const copyOf = clone;

const WHITE = "data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=";

/** Pictures that are files of their own are not served. */
const manager = new LoadingManager();
manager.setURLModifier((url) => (/^(data|blob):/.test(url) ? url : WHITE));

/** Fetch and read one mesh file; an error has the reason why it cannot be drawn, and how to fix that. */
export async function loadMesh(url: string, format: Format): Promise<Object3D> {
  const response = await fetch(url).catch(() => null);
  if (!response) throw new Error("the daemon cannot be reached; reload the page");
  if (!response.ok) {
    const answer = (await response.json().catch(() => null)) as Answer | null;
    throw new Error(answer?.error ?? `the daemon answers ${response.status}; check the file`);
  }
  const content = await response.arrayBuffer();
  const outer = format === "gltf" ? outerBuffer(content) : "";
  if (outer) throw new Error(`its buffer ${outer} is another file, which is not served; save it with its buffers in it, or as GLB`);
  const loaded = await parse(content, format).catch(() => null);
  loaded?.traverse((one) => one instanceof Mesh && [one.material].flat().forEach((material) => note(material as MeshStandardMaterial, format)));
  if (!loaded || !hasTriangles(loaded)) throw new Error(`its file is damaged, holds no triangles or is not ${NAMES[format]}; export it again`);
  leaveLights(loaded);
  return loaded;
}

/** Leave out lights and cameras, not what hangs on them: a robot of many such files would be too much to draw. */
function leaveLights(loaded: Object3D): void {
  const all: Object3D[] = [];
  loaded.traverse((one) => (one instanceof Light || one instanceof Camera) && all.push(one));
  for (const one of all) {
    const bare = Object3D.prototype.copy.call(new Object3D(), one, false);
    for (const child of [...one.children]) bare.add(child);
    one.parent?.add(bare);
    one.removeFromParent();
  }
}

/** Note in `userData.isOfFile` whether a colour is the file's own, and not what a loader makes up. */
function note(material: MeshStandardMaterial, format: Format): void {
  const { map, name, color, vertexColors } = material;
  const isColoured = Boolean(map) || vertexColors || color.getHex() !== 0xffffff;
  const isNamed = name !== "" && name !== Loader.DEFAULT_MATERIAL_NAME;
  material.userData["isOfFile"] = { stl: isColoured, obj: isColoured, dae: isNamed && !map, gltf: isNamed || isColoured, glb: isNamed || isColoured }[format];
}

/** The first file that a glTF wants besides itself, to have its shapes; empty where it wants none. */
function outerBuffer(content: ArrayBuffer): string {
  try {
    const { buffers = [] } = JSON.parse(new TextDecoder().decode(content)) as { buffers?: { uri?: string }[] };
    return buffers.find(({ uri }) => uri && !uri.startsWith("data:"))?.uri ?? "";
  } catch {
    return ""; // what reads it reports that
  }
}

function hasTriangles(loaded: Object3D): boolean {
  let count = 0;
  loaded.traverse((one) => (count += one instanceof Mesh ? ((one as Mesh).geometry.attributes["position"]?.count ?? 0) : 0));
  return count > 0;
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
    case "dae": return asItStands(sceneOf(new ColladaLoader(manager).parse(text(), "")));
    case "gltf":
    case "glb": return sceneOf(await new GLTFLoader(manager).parseAsync(content, ""));
  }
}

/** Gazebo and RViz apply a COLLADA file's unit, and ignore which axis it calls up. */
function asItStands(scene: Object3D): Object3D {
  scene.rotation.set(0, 0, 0);
  return scene;
}

function sceneOf(file: { scene: Object3D } | null): Object3D {
  if (!file) throw new Error("it holds no scene");
  return file.scene;
}
