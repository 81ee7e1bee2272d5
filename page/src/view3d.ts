/** The robot in 3D: as it stands, its reference as a ghost, and the path of a frame. */

import {
  AmbientLight, AxesHelper, Box3, BufferAttribute, BufferGeometry, Color, DirectionalLight, GridHelper, HemisphereLight,
  Line, LineBasicMaterial, PerspectiveCamera, Scene, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Palette } from "./figure";
import { Arrows, Gap, Surroundings, gapColour } from "./around";
import { Figure } from "./figure";
import { Kinematics } from "./kinematics";
import { COMMON_ERROR } from "./scale";
import { Meshes, matrix } from "./shapes";
import type { Model, Telemetry } from "./messages";
import type { NearestLinks } from "./protocol";

const SLICE_MS = 4;
const PATH_POINTS = 1200; // a minute at 20 samples a second
const TRAIL_POINTS = 120;
const MOST_STILLS = 7;
const SEEN_FROM = 1e-4; // rad or m: less than a pixel, and a thousandth of the scale of errors
const GHOST_FROM = 0.04; // of the scale of errors: nearer to the robot, the reference is not drawn apart

export type Side = "home" | "front" | "side" | "top";
const SIDES: Record<Side, [number, number, number]> = {
  home: [0.75, -1, 0.55], front: [1, 0, 0.001], side: [0, -1, 0.001], top: [0, -0.001, 1],
};

export interface ViewOptions {
  robot: string;
  palette: Palette;
  meshUrl(number: number): string;
  onFrame(position: [number, number, number] | null): void;
  onError(error: string): void;
}

/** Draws one robot on one canvas, only when something has changed. */
export class View3D {
  readonly camera = new PerspectiveCamera(38, 1, 0.005, 200);
  drawn = 0;
  scriptMs = 0;
  private readonly scene = new Scene();
  private readonly renderer: WebGLRenderer;
  private readonly controls: OrbitControls;
  private readonly observer: ResizeObserver;
  private readonly axes = new AxesHelper(0.08);
  private readonly path: Line;
  private readonly trail: Line;
  /** What was moved by hand, and how the robot stood here and there on it. */
  private moved: { rows: readonly ArrayLike<number>[]; stills: readonly ArrayLike<number>[] } | null = null;
  private stills: Figure[] = [];
  private readonly points = new Float32Array(3 * PATH_POINTS);
  private readonly arrows = new Arrows();
  private readonly gap = new Gap();
  private surroundings: Surroundings | null = null;
  private links: ReadonlySet<string> = new Set();
  private nearest: NearestLinks | null = null;
  private grid: GridHelper | null = null;
  private robot: Figure | null = null;
  private ghost: Figure | null = null;
  private kinematics: Kinematics | null = null;
  private model: Model | null = null;
  private meshes: Meshes;
  private before: Telemetry | null = null;
  private now: Telemetry | null = null;
  /** The sample that the picture shows. */
  private shown: Telemetry | null = null;
  private arrivedMs = 0;
  private intervalMs = 50;
  private preview: ArrayLike<number> | null = null;
  /** The error of each joint that is coloured as much as any can be. */
  errorScales: number[] = [];
  private frameName = "";
  private pointCount = 0;
  /** What is still to be drawn of the path over a plan. */
  private planned: { count: number; next: number; postureOf(point: number): ArrayLike<number> } | null = null;
  private size = 1;
  private lowest = 0;
  /** The room that has been taken so far. */
  private readonly taken = new Box3();
  private dirty = true;
  private request = 0;
  /** Whether somebody has put the camera where it is; else it follows the robot's size, as meshes arrive. */
  private isPlaced = false;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly options: ViewOptions) {
    this.meshes = new Meshes(options.meshUrl);
    this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "low-power" });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => {
      this.dirty = true;
    });
    this.controls.addEventListener("end", () => this.keepCamera());
    this.path = line(this.points);
    this.trail = line(new Float32Array(3 * TRAIL_POINTS));
    this.axes.matrixAutoUpdate = false;
    this.axes.visible = false;
    const sun = new DirectionalLight(0xffffff, 2.1);
    sun.position.set(1.5, -2, 3);
    const back = new DirectionalLight(0xbfd6ff, 0.7);
    back.position.set(-2, 2, 1);
    this.scene.add(new HemisphereLight(0xeaf2ff, 0x59616b, 1.2), new AmbientLight(0xffffff, 0.25), sun, back, this.path, this.trail, this.axes, this.arrows.group, this.gap.group);
    this.setPalette(options.palette);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas.parentElement!);
    this.resize();
    const draw = () => {
      this.request = requestAnimationFrame(draw);
      this.draw();
    };
    draw();
  }

  setPalette(palette: Palette): void {
    this.options.palette = palette;
    this.scene.background = new Color(palette.ground);
    this.arrows.setColour(palette);
    for (const { material } of [this.path, this.trail]) (material as LineBasicMaterial).color.set(palette.path);
    if (this.model) this.rebuild(this.model);
  }

  setModel(model: Model | null): void {
    this.meshes = new Meshes(this.options.meshUrl); // files may have changed with it
    this.rebuild(model);
  }

  private rebuild(model: Model | null): void {
    this.robot?.dispose();
    this.ghost?.dispose();
    this.surroundings?.dispose();
    this.stills.forEach((still) => still.dispose());
    this.stills = [];
    this.robot = this.ghost = this.kinematics = this.surroundings = null;
    this.links = new Set(model?.links.map(({ name }) => name));
    this.model = model;
    this.dirty = true;
    if (!model) return;
    const { palette, onError } = this.options;
    const arrived = (error?: string) => {
      this.dirty = true;
      if (error) onError(error);
      else this.measure();
    };
    this.kinematics = new Kinematics(model);
    this.robot = new Figure(model, palette, false, this.meshes, arrived);
    this.ghost = new Figure(model, palette, true, this.meshes, () => undefined);
    this.scene.add(this.robot.group, this.ghost.group);
    this.kinematics.move(this.now?.feedback.position ?? []);
    this.robot.place(this.kinematics);
    this.measure();
    const seen = (error?: string) => {
      this.dirty = true;
      if (error) onError(error);
    };
    this.surroundings = new Surroundings(model.surroundings, palette, this.meshes, this.size, seen);
    this.scene.add(this.surroundings.group);
    this.layGrid();
    this.setNearest(this.nearest);
  }

  /** Take up a sample; it is reached within the time to the next one, so that motion is smooth. */
  take(telemetry: Telemetry): void {
    const nowMs = performance.now();
    if (this.now) this.intervalMs = Math.min(200, Math.max(10, 0.8 * this.intervalMs + 0.2 * (nowMs - this.arrivedMs)));
    this.before = this.now ?? telemetry;
    this.now = telemetry;
    this.arrivedMs = nowMs;
    if (this.shown === null || differs(telemetry, this.shown)) this.dirty = true;
    this.showContacts(telemetry);
    this.extendPath(telemetry);
  }

  /** Show a sample that was recorded, at once. */
  show(sample: Telemetry): void {
    this.before = this.now = sample;
    this.showContacts(sample);
    this.dirty = true;
  }

  private showContacts({ contacts = [] }: Telemetry): void {
    if (this.arrows.show(contacts, this.links, this.size)) this.dirty = true;
  }

  /** Show where a motion that is looked at comes nearest to something; null for nothing. */
  setNearest(nearest: NearestLinks | null): void {
    this.nearest = nearest;
    this.gap.show(nearest, this.options.palette, this.size);
    this.ghost?.point(nearest?.links ?? [], nearest ? gapColour(nearest, this.options.palette) : "");
    this.dirty = true;
  }

  /** Show a posture on the ghost instead of the reference; null for the reference again. */
  setPreview(posture: ArrayLike<number> | null): void {
    this.preview = posture;
    this.dirty = true;
  }

  /** Show what was moved by hand: the way of the chosen frame, or of the last link, and the robot as it stood here and there; null for nothing. */
  setTrail(moved: View3D["moved"]): void {
    if (!moved && !this.moved) return;
    this.moved = moved;
    this.dirty = true;
  }

  /** Draw a frame's axes, and its path from now on; an empty name for none. */
  setFrame(name: string): void {
    this.frameName = name;
    this.planned = null;
    this.pointCount = 0;
    this.pathChanged();
  }

  /** Draw the path of the chosen frame over a plan, in slices, so that a long one does not hold up the page. */
  showPlan(rows: number, postureOf: (row: number) => ArrayLike<number>): void {
    const count = Math.min(rows, PATH_POINTS);
    const rowOf = (point: number) => Math.round((point * (rows - 1)) / Math.max(1, count - 1));
    this.planned = { count, next: 0, postureOf: (point) => postureOf(rowOf(point)) };
    this.dirty = true;
  }

  look(side: Side): void {
    if (side === "home") return this.lookAtWhole();
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.camera.position.copy(this.controls.target).add(new Vector3(...SIDES[side]).setLength(distance));
    this.controls.update();
    this.keepCamera();
    this.dirty = true;
  }

  /** All of the robot, now and as it moves, until somebody puts the camera elsewhere. */
  private lookAtWhole(): void {
    this.isPlaced = false;
    this.keep(null);
    this.measure();
  }

  dispose(): void {
    cancelAnimationFrame(this.request);
    this.observer.disconnect();
    this.controls.dispose();
    this.setModel(null);
    this.arrows.dispose();
    this.gap.dispose();
    this.renderer.dispose();
  }

  private draw(): void {
    const began = performance.now();
    const share = this.now ? Math.min(1, (began - this.arrivedMs) / this.intervalMs) : 1;
    if (!this.dirty) return;
    const rests = this.now === null || this.before === null || !differs(this.now, this.before);
    this.dirty = share < 1 && !rests; // where frames are few, each may meet a sample that has just come
    if (!this.dirty) this.shown = this.now;
    this.extendPlanned();
    if (this.kinematics && this.robot && this.ghost) {
      if (this.now) this.tint(this.now);
      this.placeTrail();
      this.placeGhost(share);
      this.kinematics.move(this.between("feedback", share));
      this.robot.place(this.kinematics);
      this.placeFrame();
      this.keepInSight();
    }
    this.renderer.render(this.scene, this.camera);
    this.drawn++;
    this.scriptMs = 0.95 * this.scriptMs + 0.05 * (performance.now() - began);
  }

  private between(side: "feedback" | "reference", share: number): Float64Array {
    const to = this.now?.[side].position ?? [];
    const from = this.before?.[side].position ?? to;
    return Float64Array.from(to, (value, k) => {
      const old = from[k] ?? value;
      return Number.isNaN(old) ? value : old + share * (value - old);
    });
  }

  private placeGhost(share: number): void {
    const posture = this.preview ?? this.between("reference", share);
    const feedback = this.between("feedback", share);
    const apart = Array.from(posture).some((value, k) => Math.abs(value - (feedback[k] ?? 0)) > GHOST_FROM * this.scaleOf(k));
    this.ghost!.group.visible = apart;
    if (!apart) return;
    this.kinematics!.move(posture);
    this.ghost!.place(this.kinematics!);
  }

  private placeTrail(): void {
    const rows = this.moved?.rows ?? [];
    const count = Math.min(rows.length, TRAIL_POINTS);
    const frame = this.frameName || this.model!.links.at(-1)?.name || "";
    const position = this.trail.geometry.attributes["position"]!;
    for (let point = 0; point < count; point++) {
      this.kinematics!.move(rows[Math.round((point * (rows.length - 1)) / Math.max(1, count - 1))]!);
      const pose = this.kinematics!.place(frame);
      if (pose) position.setXYZ(point, pose[3]!, pose[7]!, pose[11]!);
    }
    position.needsUpdate = true;
    this.trail.geometry.setDrawRange(0, count);
    const stills = this.moved?.stills.slice(-MOST_STILLS) ?? [];
    while (this.stills.length < stills.length) {
      const still = new Figure(this.model!, this.options.palette, true, this.meshes, () => void (this.dirty = true));
      this.scene.add(still.group);
      this.stills.push(still);
    }
    this.stills.forEach((still, k) => {
      still.group.visible = k < stills.length;
      if (k >= stills.length) return;
      this.kinematics!.move(stills[k]!);
      still.place(this.kinematics!);
    });
  }

  private scaleOf(joint: number): number {
    return this.errorScales[joint] ?? COMMON_ERROR.rad;
  }

  private tint({ reference, feedback }: Telemetry): void {
    reference.position.forEach((value, k) => {
      const error = Math.abs(value - feedback.position[k]!);
      this.robot!.tint(k, Number.isNaN(error) ? 0 : error / this.scaleOf(k));
    });
  }

  private placeFrame(): void {
    const pose = this.frameName ? this.kinematics!.place(this.frameName) : undefined;
    this.axes.visible = pose !== undefined;
    if (pose) this.axes.matrix.copy(matrix(pose));
    this.options.onFrame(pose ? [pose[3]!, pose[7]!, pose[11]!] : null);
  }

  private extendPath(telemetry: Telemetry): void {
    if (!this.frameName || !this.kinematics || this.preview) return;
    this.kinematics.move(telemetry.feedback.position);
    const pose = this.kinematics.place(this.frameName);
    if (!pose) return;
    if (this.pointCount === PATH_POINTS) {
      this.points.copyWithin(0, 3);
      this.pointCount--;
    }
    this.points.set([pose[3]!, pose[7]!, pose[11]!], 3 * this.pointCount++);
    this.pathChanged();
  }

  /** Go on with the path over a plan, as long as a slice lasts. */
  private extendPlanned(): void {
    const planned = this.planned;
    if (!planned || !this.kinematics) return;
    const until = performance.now() + SLICE_MS;
    while (planned.next < planned.count && performance.now() < until) {
      this.kinematics.move(planned.postureOf(planned.next++));
      const pose = this.kinematics.place(this.frameName);
      if (pose) this.points.set([pose[3]!, pose[7]!, pose[11]!], 3 * this.pointCount++);
    }
    if (planned.next === planned.count) this.planned = null;
    this.pathChanged();
  }

  private pathChanged(): void {
    this.path.geometry.setDrawRange(0, this.pointCount);
    this.path.geometry.attributes["position"]!.needsUpdate = true;
    this.dirty = true;
  }

  private middle(): Vector3 {
    return this.taken.isEmpty() ? new Vector3() : this.taken.getCenter(new Vector3());
  }

  /** From where all of the room is in the picture, in m, whatever the picture's shape. */
  private distance(): number {
    const half = Math.tan((this.camera.fov * Math.PI) / 360) * Math.min(1, this.camera.aspect);
    return (0.52 * this.size) / Math.sin(Math.atan(half));
  }

  /** Where nobody has put the camera, it steps back as soon as the robot or its ghost reaches further than before. */
  private keepInSight(): void {
    if (this.isPlaced) return;
    const now = new Box3();
    for (const { group } of [this.robot!, this.ghost!]) {
      if (!group.visible) continue;
      group.updateMatrixWorld(true);
      now.expandByObject(group);
    }
    if (now.isEmpty() || this.taken.containsBox(now)) return;
    this.taken.union(now.expandByScalar(0.05 * this.size));
    this.size = this.taken.getSize(new Vector3()).length();
    this.lookHome();
  }

  private lookHome(): void {
    this.controls.target.copy(this.middle());
    this.camera.position.copy(this.controls.target).add(new Vector3(...SIDES.home).setLength(this.distance()));
    this.controls.update();
  }

  /** The room that the robot takes, and some above its base for where it will reach. */
  private room(): Box3 {
    this.robot!.group.updateMatrixWorld(true);
    const box = new Box3().setFromObject(this.robot!.group);
    const base = this.model!.base_pose;
    if (!box.isEmpty()) box.expandByPoint(new Vector3(base[3], base[7], base[11]! + 0.5 * box.getSize(new Vector3()).length()));
    return box;
  }

  /** Find out how large the robot is, lay a grid below it, and look at it where nobody has moved the camera. */
  private measure(): void {
    if (!this.robot) return;
    const box = this.room();
    this.taken.copy(box);
    this.size = box.isEmpty() ? 1 : Math.max(0.1, box.getSize(new Vector3()).length());
    this.lowest = Math.min(0, box.isEmpty() ? 0 : box.min.z);
    this.layGrid();
    this.axes.scale.setScalar(1);
    if (!this.isPlaced) this.restoreCamera();
  }

  /** Below the robot, or in the floor. */
  private layGrid(): void {
    const cell = 10 ** Math.floor(Math.log10(this.size));
    const cells = 2 * Math.ceil(this.size / cell) * (this.size / cell < 3 ? 5 : 1);
    if (this.grid) {
      this.grid.dispose();
      this.scene.remove(this.grid);
    }
    const width = (cells * cell) / (this.size / cell < 3 ? 5 : 1);
    this.grid = new GridHelper(2 * width, 2 * cells, this.options.palette.gridStrong, this.options.palette.grid);
    this.grid.rotation.x = Math.PI / 2;
    this.grid.position.z = this.surroundings?.floor ?? this.lowest;
    this.scene.add(this.grid);
  }

  private keepCamera(): void {
    this.isPlaced = true;
    this.keep([this.camera.position, this.controls.target].flatMap((one) => one.toArray()));
  }

  private keep(camera: number[] | null): void {
    try {
      localStorage.setItem(`camera ${this.options.robot}`, JSON.stringify(camera));
    } catch {
      // a browser that keeps nothing
    }
  }

  private restoreCamera(): void {
    try {
      const kept = JSON.parse(localStorage.getItem(`camera ${this.options.robot}`) ?? "null") as number[] | null;
      if (kept?.length === 6 && kept.every(Number.isFinite)) {
        this.camera.position.fromArray(kept);
        this.controls.target.fromArray(kept, 3);
        this.controls.update();
        this.isPlaced = true;
        return;
      }
    } catch {
      // likewise
    }
    this.lookHome();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    if (!clientWidth || !clientHeight) return;
    this.renderer.setSize(clientWidth, clientHeight);
    this.camera.aspect = clientWidth / clientHeight;
    this.camera.updateProjectionMatrix();
    if (!this.isPlaced && !this.taken.isEmpty()) this.lookHome();
    // Another size empties the canvas, which would be seen until the next frame.
    this.dirty = true;
    this.draw();
  }
}

/** A line through points, as many as its range says. */
function line(points: Float32Array): Line {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(points, 3));
  geometry.setDrawRange(0, 0);
  const made = new Line(geometry, new LineBasicMaterial());
  made.frustumCulled = false;
  return made;
}

/** Whether two samples make two pictures. */
function differs(one: Telemetry, other: Telemetry): boolean {
  return [one.feedback, one.reference].some(({ position }, side) => {
    const shown = (side === 0 ? other.feedback : other.reference).position;
    return position.length !== shown.length || position.some((value, k) => !alike(value, shown[k]!));
  });
}

function alike(one: number, other: number): boolean {
  return Math.abs(one - other) < SEEN_FROM || (Number.isNaN(one) && Number.isNaN(other));
}
