import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { build, type Plugin } from "esbuild"

const root = join(import.meta.dirname, "..")

/** Our modules name other files by their own place, which is another one in the bundle. */
const keepPlaces = (folder: string): Plugin => ({
  name: "keep-places",
  setup: (builder) => {
    builder.onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
      const place = relative(root, path).replaceAll("\\", "/")
      if (!/^(?:src|dist)\//.test(place)) return undefined
      const url = `new URL("${relative(folder, path).replaceAll("\\", "/")}", import.meta.url).href`
      const contents = readFileSync(path, "utf8").replaceAll("import.meta.url", url)
      return { contents, loader: path.endsWith(".ts") ? "ts" : "js" }
    })
  }
})

/** Leaves out the modules of some folders that are imported when a command runs. */
const leaveOut = (folder: string, folders: ReadonlyArray<string>): Plugin => ({
  name: "leave-out",
  setup: (builder) => {
    builder.onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      const file = join(resolveDir, path)
      return kind === "dynamic-import" && folders.includes(relative(root, dirname(file)).replaceAll("\\", "/"))
        ? { path: relative(folder, file).replaceAll("\\", "/"), external: true }
        : undefined
    })
  }
})

/** An import of `node:http` evaluates its getters, and so loads Node's HTTP/2 and fetch: 14 MB that no command needs. */
const withoutGetters: Plugin = {
  name: "without-getters",
  setup: (builder) => {
    builder.onResolve({ filter: /^(?:node:)?http$/ }, () => ({ path: "node:http", namespace: "builtin" }))
    builder.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`
    }))
  }
}

/** The names of CommonJS that packages use, in a module. */
const commonJsNames = `import { createRequire as requireFrom } from "node:module"
const require = requireFrom(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname`

/** The licenses of the packages with files in a bundle. */
const licensesOf = (inputs: ReadonlyArray<string>): string => {
  const packages = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []))
  return [...packages]
    .toSorted()
    .map((folder) => {
      const { license, name, version } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
        readonly [field: string]: string
      }
      const file = readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one))
      const text = file === undefined ? "" : readFileSync(join(root, folder, file), "utf8")
      return `${name} ${version}, ${license}\n\n${text.trim()}\n`
    })
    .join(`\n${"-".repeat(80)}\n\n`)
}

interface BundleOptions {
  /** Keeps the names of functions, for stack traces. */
  readonly minify?: boolean
  /** Folders whose modules stay out. */
  readonly leaveOut?: ReadonlyArray<string>
}

/** Bundles the `a2c` command for a folder: it starts in a third of the CPU time of its modules, with less memory. */
export const bundleCommand = async (
  entry: string,
  folder: string,
  { leaveOut: folders = [], minify = false }: BundleOptions = {}
) => {
  const { metafile, outputFiles } = await build({
    minifySyntax: minify,
    minifyWhitespace: minify,
    absWorkingDir: root,
    entryPoints: [entry],
    plugins: [keepPlaces(folder), leaveOut(folder, folders), withoutGetters],
    outdir: folder,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    // Packages with native or WebAssembly files, and optional ones.
    external: ["@bpinternal/verel", "bufferutil", "utf-8-validate"],
    // The other build of a package may load its parts in a way that a bundler does not see.
    mainFields: ["module", "main"],
    banner: { js: commonJsNames },
    logLevel: "warning"
  })
  return { outputFiles, licenses: licensesOf(Object.keys(metafile.inputs)) }
}
