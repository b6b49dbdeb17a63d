import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import * as effect from "effect"
import { build, type Plugin } from "esbuild"
import { importDirectly } from "../importDirectly.ts"

const root = join(import.meta.dirname, "../..")
const sources = join(root, "src")

/** The program of the command, and the module that it loads at once. */
const command = "main/cli/a2c"
const main = "main/cli/run"

/** The files of the command that are programs or threads, or that packs import. */
const entries = [
  command,
  "main/demo/notesServer",
  "main/entrypoints/tools",
  "adapters/ajv/worker",
  "adapters/packs/isolation/child",
  "adapters/vrl/worker"
]

/** Packages that packs import of their host. */
const sharedPackages = ["effect", "zod"]

/** Stands for the folder of the built modules, until it is known where a file of the bundle is. */
const placeholder = "a2c-place:"

/** Our modules name other files by their own place, which is another one in the bundle. */
const keepPlace = (path: string, text: string): string => {
  const place = relative(sources, path).replaceAll("\\", "/").replace(/\.ts$/, ".js")
  return text.replaceAll("import.meta.url", `new URL("${placeholder}${place}", import.meta.url).href`)
}

/** Packs may use any module of effect, so its index is in the bundle, but no command loads it. */
const ours: Plugin = {
  name: "ours",
  setup: (builder) => {
    builder.onLoad({ filter: /\.ts$/, namespace: "file" }, ({ path }) => ({
      contents: importDirectly(keepPlace(path, readFileSync(path, "utf8"))),
      loader: "ts"
    }))
  }
}

/** What packages do at their start, and few commands need: milliseconds of each start. */
const deferred = [
  {
    // The global loads all of Node's fetch; the client uses `ws`.
    file: "engine.io-client/build/esm-debug/transports/websocket.js",
    from: "globalThis.WebSocket || globalThis.MozWebSocket",
    to: "undefined"
  },
  {
    // Loads the data of ICU. Characters of ASCII are graphemes.
    file: "effect/dist/cli/CliOutput.js",
    from: /new Intl\.Segmenter\(undefined, \{\s*granularity: "grapheme"\s*\}\)/,
    to: `{ segment: (text) => /^[ -~]*$/.test(text)
      ? Array.from(text, (segment) => ({ segment }))
      : new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text) }`
  }
]

const deferring: Plugin = {
  name: "deferring",
  setup: (builder) => {
    for (const { file, from, to } of deferred) {
      builder.onLoad({ filter: new RegExp(`${file.replaceAll(".", "\\.")}$`) }, ({ path }) => {
        const text = readFileSync(path, "utf8")
        const contents = text.replace(from, () => to)
        if (contents === text) throw new Error(`${file} has changed: see what its start costs now`)
        return { contents }
      })
    }
  }
}

/**
 * Modules that every command needs become one file: the parts that a command loads also import
 * them. Otherwise they would be dozens of files, and a start would take a tenth longer.
 */
const oneCore: Plugin = {
  name: "one-core",
  setup: (builder) => {
    const file = join(sources, `${main}.ts`)
    const core = [...readFileSync(file, "utf8").matchAll(/ from ("\..*")$/gm)].map(([, path]) => `import ${path}`)
    builder.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      if (!resolveDir.startsWith(sources)) return undefined
      const target = join(resolveDir, path)
      // Without side effects, the import of the core would be dropped.
      return {
        path: target,
        sideEffects: true,
        ...(kind === "dynamic-import" && target !== file && { namespace: "lazy" })
      }
    })
    builder.onResolve({ filter: /^core$/ }, () => ({ path: "core", namespace: "core", sideEffects: true }))
    builder.onLoad({ filter: /.*/, namespace: "core" }, () => ({
      contents: core.join("\n"),
      resolveDir: dirname(file)
    }))
    builder.onLoad({ filter: /.*/, namespace: "lazy" }, ({ path }) => ({
      contents: `import "core"; export * from "./${basename(path)}"`,
      resolveDir: dirname(path)
    }))
  }
}

/** What packs import of their host, as files of the bundle. */
const shared: Plugin = {
  name: "shared",
  setup: (builder) => {
    builder.onResolve({ filter: /^shared:/ }, ({ path }) => ({ path: path.slice(7), namespace: "shared" }))
    builder.onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({
      contents: `export * from "${path}"`,
      resolveDir: root
    }))
  }
}

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

/** Bun replaces `ws` in every program, also where it is not installed, and cannot run the package itself. */
const replaceableWs: Plugin = {
  name: "replaceable-ws",
  setup: (builder) => {
    builder.onResolve({ filter: /^ws$/ }, () => ({ path: "ws", namespace: "replaceable" }))
    builder.onLoad({ filter: /.*/, namespace: "replaceable" }, ({ path }) => ({
      contents: `module.exports = process.versions.bun ? (0, require)("${path}") : require("./node_modules/${path}/index.js")`,
      resolveDir: root
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

/** The modules of effect, such as `effect/Schema`, as files that give their values in the bundle. */
const effectModules = (): ReadonlyArray<CommandFile> =>
  Object.entries(effect).flatMap(([name, module]) => {
    if (typeof module === "function") return []
    const names = Object.keys(module)
    const given = names.map((one, index) => `${one}: v${index}`).join(", ")
    const exported = names.map((one, index) => `v${index} as ${one}`).join(", ")
    const text = `import { ${name} } from "../effect.js"\nconst { ${given} } = ${name}\nexport { ${exported} }\n`
    return [{ path: `shared/effect/${name}.js`, contents: Buffer.from(text) }]
  })

export interface CommandFile {
  /** Below the folder of the built modules. */
  readonly path: string
  readonly contents: Uint8Array
}

/**
 * Bundles the `a2c` command with all that it loads. Without the packages, and with less files to read, it starts in a third of
 * the CPU time of its modules, with less memory. `minify` keeps the names of functions, for stack traces.
 */
export const bundleCommand = async ({ minify = false } = {}) => {
  const outdir = join(root, "node_modules/.cache/command")
  const { metafile, outputFiles } = await build({
    minifySyntax: minify,
    minifyWhitespace: minify,
    absWorkingDir: root,
    entryPoints: [
      ...entries.map((path) => ({ in: join(sources, `${path}.ts`), out: path })),
      ...sharedPackages.map((name) => ({ in: `shared:${name}`, out: `shared/${name}` }))
    ],
    plugins: [ours, deferring, oneCore, shared, withoutGetters, replaceableWs],
    outdir,
    chunkNames: "chunks/[name]-[hash]",
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
  const bundled = outputFiles.map(({ path, text }): CommandFile => {
    const up = relative(dirname(path), outdir).replaceAll("\\", "/") || "."
    return {
      path: relative(outdir, path).replaceAll("\\", "/"),
      contents: Buffer.from(text.replaceAll(placeholder, `${up}/`))
    }
  })
  return { files: [...bundled, ...effectModules()], licenses: licensesOf(Object.keys(metafile.inputs)) }
}
