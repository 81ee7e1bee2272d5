/** A gamepad: whether one is there, what it moves, and how that is changed. */

import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { padInUse, sharesOf, usualMapping } from "./gamepad";
import type { Input } from "./gamepad";
import { DIRECTIONS } from "./jog";
import type { Jog } from "./jog";
import { gate } from "./permission";
import type { GamepadAnswer, GamepadMapping } from "./protocol";
import { command, connection } from "./store";
import type { Robot } from "./store";

const PERIOD_MS = 33;
const BY = "gamepad";

/** Which part of a mapping counts, by what is jogged. */
function partOf(jog: Jog): "joints" | "directions" {
  return jog.way.value.mode === "twist" ? "directions" : "joints";
}

/** Let a gamepad jog the robot while its dead-man button is held; nothing that was held before counts. */
function usePad(jog: Jog, mapping: Signal<GamepadMapping>): Signal<string> {
  const name = useSignal("");
  useEffect(() => {
    const look = () => {
      const pad = padInUse();
      name.value = pad?.id ?? "";
      const shares = pad && sharesOf(pad, mapping.peek(), mapping.peek()[partOf(jog)]);
      if (shares) jog.hold(BY, shares);
      else if (pad) jog.release(BY);
      else jog.spend(BY);
    };
    const change = () => {
      jog.stop("A gamepad came or went");
      jog.spend(BY);
    };
    jog.spend(BY);
    const timer = setInterval(look, PERIOD_MS);
    addEventListener("gamepadconnected", change);
    addEventListener("gamepaddisconnected", change);
    return () => {
      clearInterval(timer);
      removeEventListener("gamepadconnected", change);
      removeEventListener("gamepaddisconnected", change);
      jog.release(BY);
    };
  }, [jog]);
  return name;
}

/** What moves the robot, as it is kept; one that is changed moves it only once it is kept. */
export function GamepadPart({ robot, jog }: { robot: Robot; jog: Jog }) {
  const joints = robot.jointNames.value;
  const kept = useSignal(usualMapping(joints));
  const problem = useSignal("");
  const name = usePad(jog, kept);
  useEffect(() => {
    void connection.ask(robot.name, "gamepad").then(({ status, data, error }) => {
      const answer = data as unknown as GamepadAnswer;
      if (status === "ok" && answer.mapping) kept.value = answer.mapping;
      problem.value = (status === "ok" ? answer.problem : error) ?? "";
    });
  }, [robot]);
  return (
    <section class="gamepad" aria-label="Gamepad">
      <h3>Gamepad</h3>
      <p class="hint" role="status">{name.value ? <><strong>{name.value}</strong> moves it while button {kept.value.dead_man} is held.</> : "None is seen. Connect one, and press a button on it: browsers show it only then."}</p>
      {problem.value && <p class="bad">{problem.value}</p>}
      <details>
        <summary>What it moves</summary>
        <Editor key={JSON.stringify(kept.value)} robot={robot} part={partOf(jog)} joints={joints} kept={kept} problem={problem} />
      </details>
    </section>
  );
}

interface EditorProps {
  robot: Robot;
  part: "joints" | "directions";
  joints: string[];
  kept: Signal<GamepadMapping>;
  problem: Signal<string>;
}

function Editor({ robot, part, joints, kept, problem }: EditorProps) {
  const mapping = useSignal(kept.value);
  const change = (part: Partial<GamepadMapping>) => (mapping.value = { ...mapping.peek(), ...part });
  const { dead_man, dead_zone, curve } = mapping.value;
  const save = async (event: Event) => {
    event.preventDefault();
    const answer = await command(robot, "gamepad/save", { mapping: mapping.peek() });
    if (answer.status === "error") return;
    kept.value = mapping.peek();
    problem.value = "";
  };
  return (
    <form onSubmit={(event) => void save(event)}>
      <div class="fields">
        <Figure label="Dead-man button" value={dead_man} most={63} set={(value) => change({ dead_man: value })} />
        <Figure label="Dead zone, %" value={Math.round(100 * dead_zone)} most={90} set={(value) => change({ dead_zone: value / 100 })} />
        <Figure label="Curve" value={curve} least={1} most={5} step={0.1} set={(value) => change({ curve: value })} />
      </div>
      <ul class="inputs">
        {(part === "joints" ? joints : DIRECTIONS).map((name) => <InputRow key={name} name={name} input={mapping.value[part][name]} set={(input) => change({ [part]: withInput(mapping.peek()[part], name, input) })} />)}
      </ul>
      <p class="line">
        <button class="main" {...gate(robot, "command")} aria-busy={robot.pending.value.has("gamepad/save")}>Keep</button>
        <button type="button" onClick={() => (mapping.value = usualMapping(joints))}>Defaults</button>
      </p>
    </form>
  );
}

function withInput(inputs: Record<string, Input>, name: string, input: Input | undefined): Record<string, Input> {
  const { [name]: _, ...others } = inputs;
  return input ? { ...others, [name]: input } : others;
}

function Figure({ label, value, least = 0, most, step = 1, set }: { label: string; value: number; least?: number; most: number; step?: number; set(value: number): void }) {
  const take = (text: string) => {
    const number = parseFloat(text);
    if (number >= least && number <= most) set(step === 1 ? Math.round(number) : number);
  };
  return <label>{label} <input type="number" min={least} max={most} step={step} value={value} onInput={(event) => take(event.currentTarget.value)} /></label>;
}

const AXES = Array.from({ length: 8 }, (_, axis) => ({ axis }));
const BUTTONS = [[6, 7], [12, 13], [14, 15], [4, 5], [0, 1], [2, 3], [0, 3], [2, 1]].map(([minus, plus]) => ({ minus: minus!, plus: plus! }));
const CHOICES = [...AXES, ...BUTTONS];

/** By which axis or buttons one joint is moved, how fast, and in which direction. */
function InputRow({ name, input, set }: { name: string; input: Input | undefined; set(input: Input | undefined): void }) {
  const own = input && nameOf(input);
  const choices = [...new Set([...CHOICES.map(nameOf), ...(own ? [own] : [])])];
  const choose = (chosen: string) => {
    const part = [...CHOICES, ...(input ? [input] : [])].find((one) => nameOf(one) === chosen);
    set(part && { ...part, scale: input?.scale ?? 1 });
  };
  return (
    <li>
      <span class="name">{name}</span>
      <select aria-label={`What moves ${name}`} value={own ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">nothing</option>
        {choices.map((one) => <option key={one}>{one}</option>)}
      </select>
      {input && <Figure label="%" value={Math.round(100 * input.scale)} least={-100} most={100} set={(value) => set({ ...input, scale: value / 100 })} />}
    </li>
  );
}

function nameOf(input: { axis: number } | { minus: number; plus: number }): string {
  return "axis" in input ? `axis ${input.axis}` : `buttons ${input.minus} and ${input.plus}`;
}
