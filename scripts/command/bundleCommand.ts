import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import * as effect from "effect"
import { build, type Plugin } from "esbuild"
import { importDirectly } from "../importDirectly.ts"

const root = join(import.meta.dirname, "../..")
const sources = join(root, "src")

/** The module that the program loads at once. */
const main = "main/cli/run"

/** A bundle of modules, which shares none with the others. */
interface Bundle {
  /** Files that are programs or threads, or that packs import. */
  readonly entries: ReadonlyArray<string>
  /** Packages that packs import of their host. */
  readonly packages: ReadonlyArray<string>
  /** The modules whose lazy imports belong to another bundle. */
  readonly others: RegExp
  readonly format?: "cjs" | "esm"
}

/** The program, which loads the bundle of its command. Node runs more code before a program that is a module. */
const program: Bundle = { entries: ["main/cli/a2c"], packages: [], others: /main\/cli\/a2c\.ts$/, format: "cjs" }

/** Most commands. Without packs, the bundle keeps only what it uses of effect and zod: half of them. */
const withoutPacks: Bundle = {
  entries: ["main/cli/run", "main/demo/notesServer", "adapters/vrl/worker"],
  packages: [],
  others: /main\/cli\/(?:root|tools\/command)\.ts$/
}

/** The commands that load packs, which import all of effect and zod from it. */
const withPacks: Bundle = {
  entries: ["main/cli/runWithPacks", "main/entrypoints/tools", "adapters/packs/isolation/child"],
  packages: ["effect", "zod"],
  others: /main\/(?:layers\/(?:server|transport)Layer|cli\/(?:run|(?:agent|computer|devices|server)\/command))\.ts$/
}

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

/** Functions of Node's crypto, which load it when they are called. */
const lateCrypto = {
  from: /const \{ (.*) \} = require\('crypto'\);/,
  to: (_: string, names: string) =>
    `const crypto = require('crypto');${names
      .split(", ")
      .map((name) => `const ${name} = (...args) => crypto.${name}(...args);`)
      .join("")}`
}

/** What packages do at their start, and few commands need: milliseconds of each start, and memory. */
const deferred = [
  ...["sender", "websocket", "websocket-server"].map((name) => ({ file: `ws/lib/${name}.js`, ...lateCrypto })),
  {
    // The object has all of zod, with its fifty languages.
    file: "@gleanwork/mcp-config-schema/dist/index.js",
    from: /import \{ ?z ?\} from ?["']zod["']/,
    to: 'import * as z from "zod"'
  },
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
        const contents = text.replace(from, typeof to === "string" ? () => to : to)
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
const oneCore = (others: RegExp): Plugin => ({
  name: "one-core",
  setup: (builder) => {
    const file = join(sources, `${main}.ts`)
    const core = [...readFileSync(file, "utf8").matchAll(/ from ("\..*")$/gm)].map(([, path]) => `import ${path}`)
    builder.onResolve({ filter: /^\./ }, ({ importer, kind, path, resolveDir }) => {
      if (!resolveDir.startsWith(sources)) return undefined
      const target = join(resolveDir, path)
      const isLazy = kind === "dynamic-import"
      if (isLazy && others.test(importer)) return { path: path.replace(/ts$/, "js"), external: true }
      // Without side effects, the import of the core would be dropped.
      return {
        path: target,
        sideEffects: true,
        ...(isLazy && { namespace: "lazy" })
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
})

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

/** Modules of Node that few commands use, but many packages import. */
const lateBuiltins = [
  "child_process",
  "crypto",
  "dns",
  "dns/promises",
  "http",
  "https",
  "readline",
  "tls",
  "vm",
  "zlib"
]

/**
 * Loads modules of Node when a value of them is used. An import evaluates all of them: `node:http` loads Node's HTTP/2 and
 * fetch, 14 MB that no command needs, and `node:https` with `node:crypto` 6 MB that an idle Server does not need.
 */
const lateNode: Plugin = {
  name: "late-node",
  setup: (builder) => {
    const filter = new RegExp(`^(?:node:)?(?:${lateBuiltins.join("|")})$`)
    builder.onResolve({ filter }, ({ path }) => ({ path: `node:${path.replace("node:", "")}`, namespace: "builtin" }))
    builder.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => {
      const getters = Object.keys(process.getBuiltinModule(path) ?? {}).map(
        (name) => `get ${name}() { return load().${name} }`
      )
      return {
        contents: `let loaded
const load = () => (loaded ??= process.getBuiltinModule(${JSON.stringify(path)}))
module.exports = { ${getters.join(", ")} }`
      }
    })
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

const outdir = join(root, "node_modules/.cache/command")

const bundle = ({ entries, format = "esm", others, packages }: Bundle, minify: boolean) =>
  build({
    minifySyntax: minify,
    minifyWhitespace: minify,
    absWorkingDir: root,
    entryPoints: [
      ...entries.map((path) => ({ in: join(sources, `${path}.ts`), out: path })),
      ...packages.map((name) => ({ in: `shared:${name}`, out: `shared/${name}` }))
    ],
    plugins: [ours, deferring, oneCore(others), shared, lateNode, replaceableWs],
    outdir,
    chunkNames: "chunks/[name]-[hash]",
    write: false,
    metafile: true,
    bundle: true,
    splitting: format === "esm",
    format,
    platform: "node",
    target: "node22",
    // Packages with native or WebAssembly files, and optional ones.
    external: ["@bpinternal/verel", "bufferutil", "utf-8-validate"],
    // The other build of a package may load its parts in a way that a bundler does not see.
    mainFields: ["module", "main"],
    ...(format === "esm" ? { banner: { js: commonJsNames } } : { outExtension: { ".js": ".cjs" } }),
    logLevel: "warning"
  })

/**
 * Bundles the `a2c` command with all that it loads. Without the packages, and with less files to read, it starts in a third of
 * the CPU time of its modules, with less memory. `minify` keeps the names of functions, for stack traces.
 */
export const bundleCommand = async ({ minify = false } = {}) => {
  const bundles = await Promise.all([program, withoutPacks, withPacks].map((one) => bundle(one, minify)))
  const outputs = new Map(bundles.flatMap(({ outputFiles }) => outputFiles.map(({ path, text }) => [path, text])))
  const bundled = [...outputs].map(([path, text]): CommandFile => {
    const up = relative(dirname(path), outdir).replaceAll("\\", "/") || "."
    return {
      path: relative(outdir, path).replaceAll("\\", "/"),
      contents: Buffer.from(text.replaceAll(placeholder, `${up}/`))
    }
  })
  const inputs = bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs))
  return { files: [...bundled, ...effectModules()], licenses: licensesOf(inputs) }
}
