// Builds the page into the folder that the daemon serves, or into the one named on the command line.
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const into = process.argv[2] ?? `${here}../daemon/http/static`;

await mkdir(into, { recursive: true });
for (const name of await readdir(into)) await rm(`${into}/${name}`);
const result = await build({
  entryPoints: { page: `${here}src/main.tsx` },
  absWorkingDir: here,
  outdir: into,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  chunkNames: "[name]-[hash]",
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
});
for (const name of ["index.html", "icon.svg"]) await copyFile(`${here}src/${name}`, `${into}/${name}`);
await writeFile(`${into}/licences.txt`, await licences(result.metafile));

/** The licence of every package that is in the bundle. */
async function licences(metafile) {
  const used = new Set(
    Object.values(metafile.outputs).flatMap((output) =>
      Object.entries(output.inputs)
        .filter(([, input]) => input.bytesInOutput > 0)
        .map(([name]) => name.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1])
        .filter(Boolean),
    ),
  );
  const texts = [...used].sort().map(async (name) => {
    const folder = `${here}node_modules/${name}`;
    const { version } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name}: no licence file; it cannot be shipped; name its licence here`);
    return `${name} ${version}\n\n${(await readFile(`${folder}/${file}`, "utf8")).trim()}\n`;
  });
  const head = "The page contains these libraries.\n\n";
  return head + (await Promise.all(texts)).join(`\n${"-".repeat(72)}\n\n`);
}
