import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { build, type Plugin } from "esbuild"
import type { TestProject } from "vitest/node"

const root = join(import.meta.dirname, "../..")
const sources = join(root, "src")

/** Below `node_modules`, since the bundle imports packages. */
const folder = join(root, "node_modules/.cache/a2c-test-command")

/** The file of the bundled `a2c` command: it starts in half of the CPU time of the sources. */
export const bundledCommand = join(folder, "main-cli-a2c.js")

/** How a source file refers to another one that it runs as a process or worker. */
const reference = /new URL\(`([^`$]+)\$\{import\.meta\.url\.slice\(-3\)\}`, import\.meta\.url\)/g

/** The name of a source file in the bundle: all files are in one folder. */
const nameOf = (file: string): string => relative(sources, file).replace(/\.ts$/, "").replaceAll("/", "-")

const flattenReferences = (contents: string, folderOfFile: string): string =>
  contents.replaceAll(
    reference,
    (_, path: string) => `new URL("./${nameOf(join(folderOfFile, path))}.js", import.meta.url)`
  )

const flatReferences: Plugin = {
  name: "flat-references",
  setup: (builder) => {
    builder.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8")
      return { contents: flattenReferences(contents, dirname(path)), loader: "ts" }
    })
  }
}

/** Every file that the sources run as a process or worker. */
const referencedFiles = (): ReadonlyArray<string> =>
  readdirSync(sources, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) =>
      [...readFileSync(join(sources, file), "utf8").matchAll(reference)].map(([, path = ""]) =>
        join(sources, dirname(file), `${path}.ts`)
      )
    )

/** The names of CommonJS that packages use, in a module. */
const commonJsNames = `import { createRequire as requireFrom } from "node:module"
const require = requireFrom(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname`

/** Writes a file that other processes may be reading. */
const replaceFile = (path: string, contents: Uint8Array): void => {
  if (existsSync(path) && readFileSync(path).equals(contents)) return
  writeFileSync(`${path}.${process.pid}`, contents)
  renameSync(`${path}.${process.pid}`, path)
}

/** True for a file that no other run of the tests uses: none of them takes an hour. */
const isOutdated = (path: string): boolean =>
  Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > 3_600_000

const bundleCommand = async (): Promise<void> => {
  const entries = [join(sources, "main/cli/a2c.ts"), ...new Set(referencedFiles())]
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: entries.map((file) => ({ in: file, out: nameOf(file) })),
    plugins: [flatReferences],
    outdir: folder,
    write: false,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    // Packages with native or WebAssembly files, and optional ones.
    external: ["@bpinternal/verel", "bufferutil", "utf-8-validate"],
    // The other build of a package may load its parts in a way that a bundler does not see.
    mainFields: ["module", "main"],
    banner: { js: commonJsNames },
    logLevel: "warning"
  })
  mkdirSync(folder, { recursive: true })
  // Without it Node examines each file to find out that it is a module.
  replaceFile(join(folder, "package.json"), Buffer.from('{ "type": "module" }'))
  for (const { contents, path } of outputFiles) replaceFile(path, contents)
  const current = new Set(["package.json", ...outputFiles.map(({ path }) => basename(path))])
  for (const file of readdirSync(folder)) {
    if (!current.has(file) && isOutdated(join(folder, file))) rmSync(join(folder, file), { force: true })
  }
}

/** Bundles the command before the tests start, and again before they are repeated. */
export default async (project: TestProject): Promise<void> => {
  await bundleCommand()
  project.onTestsRerun(bundleCommand)
}
