import { readdirSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"
import { parseSync } from "oxc-parser"
import { bundlePage, maxGzippedBytes } from "../scripts/buildPage.ts"
import { packageVersion } from "../src/domain/packageVersion.ts"

const layers = ["adapters", "application", "domain", "main"]

/** The largest number of files in a folder, beside its subfolders. */
const maxFilesPerFolder = 12

interface Import {
  readonly file: string
  /** A path below `src` for a file of the project, else the name of a package. */
  readonly target: string
}

const sources: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => {
      const file = name.replaceAll("\\", "/")
      const text = readFileSync(join("src", name), "utf8")
      const names = [...text.matchAll(/(?:\bfrom|\bimport\(|\bimport)\s*"([^"]+)"/g)].map(([, target = ""]) => target)
      return [file, names.map((target) => (target.startsWith(".") ? posix.join(posix.dirname(file), target) : target))]
    })
)

const imports: ReadonlyArray<Import> = [...sources].flatMap(([file, targets]) =>
  targets.map((target) => ({ file, target }))
)

const importsOf = (files: RegExp): ReadonlyArray<Import> => imports.filter(({ file }) => files.test(file))

const formatImport = ({ file, target }: Import): string => `${file} imports ${target}`

/** Asserts that no file of `files` imports `forbidden`. */
const assertNoImport = (files: RegExp, forbidden: RegExp): void => {
  const found = importsOf(files).filter(({ target }) => forbidden.test(target))
  assert.deepStrictEqual(found.map(formatImport), [])
}

/** Asserts that files of `files` import only `allowed` packages, beside files of `src`. */
const assertPackages = (files: RegExp, allowed: RegExp): void => {
  const found = importsOf(files).filter(({ target }) => !/^\w+\/.*\.tsx?$/.test(target) && !allowed.test(target))
  assert.deepStrictEqual(found.map(formatImport), [])
}

/** Finds a cycle through each node that is in one: depth-first, each node once. */
const cyclesOf = (graph: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<string> => {
  const finished = new Set<string>()
  const cycles: Array<string> = []
  const visit = (node: string, path: ReadonlyArray<string>): void => {
    const start = path.indexOf(node)
    if (start >= 0) cycles.push([...path.slice(start), node].join(" → "))
    if (start >= 0 || finished.has(node)) return
    for (const target of graph.get(node) ?? []) visit(target, [...path, node])
    finished.add(node)
  }
  for (const node of graph.keys()) visit(node, [])
  return cycles
}

/** The folders that each folder imports from, without those above it: a parent holds what its subfolders share. */
const importedFolders = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const folderOf = (file: string): string => posix.dirname(file)
  const files = imports.filter(({ target }) => sources.has(target))
  return new Map(
    [...Map.groupBy(files, ({ file }) => folderOf(file))].map(([folder, from]) => {
      const targets = new Set(from.map(({ target }) => folderOf(target)))
      return [folder, [...targets].filter((target) => !`${folder}/`.startsWith(`${target}/`))]
    })
  )
}

const bundle = async (entry: { readonly entryPoints: [string] } | { readonly stdin: { contents: string } }) => {
  const options = { bundle: true, platform: "browser", write: false, metafile: true } as const
  const { metafile, outputFiles } =
    "stdin" in entry
      ? await build({ ...options, stdin: { ...entry.stdin, resolveDir: process.cwd() }, format: "iife" })
      : await build({ ...options, ...entry, format: "esm" })
  return { inputs: Object.keys(metafile.inputs), text: outputFiles[0]?.text ?? "" }
}

describe("source tree", () => {
  it("has one folder per layer and no other entries", () => {
    assert.deepStrictEqual(readdirSync("src").sort(), layers)
  })

  it("has small folders", () => {
    const folders = Map.groupBy(sources.keys(), (file) => posix.dirname(file))
    const large = [...folders].filter(([, files]) => files.length > maxFilesPerFolder).map(([name]) => name)
    assert.deepStrictEqual(large, [])
  })

  it("parses JSON in one place, since V8 confuses escaped names", () => {
    const found = [...sources.keys()].filter((file) => /JSON\.parse\(/.test(readFileSync(join("src", file), "utf8")))
    assert.deepStrictEqual(found.toSorted(), ["domain/escapedNames.ts", "domain/json.ts"])
  })

  it("declares each exported name in one file", () => {
    const declaration = /^export (?:declare )?(?:abstract )?(?:const|class|function\*?|interface|type) (\w+)/gm
    const declared = [...sources.keys()].flatMap((file) =>
      [...readFileSync(join("src", file), "utf8").matchAll(declaration)].map(([, name = ""]) => ({ file, name }))
    )
    assert.isAbove(declared.length, 2000)
    // Modules of one shape: each has a `layer` or a `make`, and each protocol line the same codecs.
    const distinct = declared.filter(
      ({ file, name }) => !/^(?:layer|make)/.test(name) && !file.startsWith("domain/wire/v")
    )
    const repeated = [...Map.groupBy(distinct, ({ name }) => name)].filter(
      ([, files]) => new Set(files.map(({ file }) => file)).size > 1
    )
    assert.deepStrictEqual(
      repeated.map(([name, files]) => `${name}: ${files.map(({ file }) => file).join(", ")}`),
      []
    )
  })

  it("has no import cycles, type-only imports included", () => {
    assert.deepStrictEqual(cyclesOf(sources), [])
  })

  it("has no circles of folders", () => {
    assert.deepStrictEqual(cyclesOf(importedFolders()), [])
  })
})

describe("import", () => {
  it("names effect, hashes or the domain from the domain", () => {
    assertPackages(/^domain\//, /^(effect|@noble\/hashes\/[\w.]+)$/)
    assertNoImport(/^domain\//, /^(application|adapters|main)\//)
  })

  it("names effect, the domain or the application from the application", () => {
    assertPackages(/^application\//, /^(effect(\/encoding)?|@noble\/hashes\/[\w.]+)$/)
    assertNoImport(/^application\//, /^(adapters|main)\//)
  })

  it("never names main from adapters", () => {
    assertNoImport(/^adapters\//, /^main\//)
  })

  it("names a protocol line only from domain/wire", () => {
    assertNoImport(/^(?!domain\/wire\/)/, /^domain\/wire\/v\d+_\d+\//)
  })

  it("never names the wire or a topic from the model", () => {
    assertNoImport(/^domain\/model\//, /^domain\/(wire|office|config|tools|desktop|documents)\//)
  })

  it("never names devices or packs from the A2C parts", () => {
    const a2cParts =
      /^(domain\/(office|desktop|tools|documents|config|wire|model)|application\/(server|computer|agent|member|bridge)|adapters\/(socketio|redis|mcp|llm))\//
    assertNoImport(a2cParts, /^\w+\/(devices|packs)\//)
  })
})

describe("output", () => {
  /** Files that may write to stdout and stderr. All others call them, so foreign text is always escaped. */
  const writers = [
    "adapters/log/ConsoleLog.ts",
    "adapters/log/TerminalLog.ts",
    "adapters/mcp/publish/publishStdio.ts",
    // Gives stdout to a protocol alone.
    "adapters/process/protocolOutput.ts",
    "adapters/terminal/Dialogue.ts",
    // Collects the output of an engine, which its worker discards.
    "adapters/vrl/worker.ts",
    // Warns on the console of a web page.
    "adapters/webmcp/offerPageTools.ts",
    "main/cli/TerminalIO.ts",
    "main/cli/a2c.ts",
    "main/cli/output/print.ts",
    "main/cli/output/screen.ts",
    "main/cli/run.ts",
    // The program of an MCP server that does not start.
    "main/demo/demoConfigs.ts"
  ]

  it("is written by the listed files only", () => {
    const writes =
      /\bconsole\b|\bConsole\b|\bStdio\b|\bprocess\.std(?:out|err)\b|\{[^}]*\bstd(?:out|err)\b[^}]*\}\s*=\s*process\b/
    const found = [...sources.keys()].filter((file) => {
      const text = readFileSync(join("src", file), "utf8")
      const { comments } = parseSync(file, text)
      const code = comments.toReversed().reduce((rest, { end, start }) => rest.slice(0, start) + rest.slice(end), text)
      return writes.test(code)
    })
    assert.deepStrictEqual(found.sort(), writers.sort())
  })
})

describe("bundle", () => {
  it("holds only the domain and effect for the domain, without Node", async () => {
    const { inputs, text } = await bundle({ entryPoints: ["src/main/entrypoints/domain.ts"] })
    const allowed =
      /^(src\/domain\/|src\/main\/(entrypoints\/domain|requireEffect)\.ts$|(?:\.\.\/)*(?:[\w/]+\/)?node_modules\/(effect|@noble\/hashes)\/)/
    assert.deepStrictEqual(
      inputs.filter((path) => !allowed.test(path)),
      []
    )
    assert.notMatch(text, /require\(|from "node:/)
  })

  it("holds nothing of Node for the Agent", async () => {
    const { inputs, text } = await bundle({ entryPoints: ["src/main/entrypoints/agent.ts"] })
    assert.notMatch(
      inputs.join("\n"),
      /platform-node|modelcontextprotocol|adapters\/(mcp|terminal|process|packs|tcp|redis)\/|environmentProxies|networkErrors|nodeAgent|main\/layers\/(?!webAgentLayer)/
    )
    assert.notMatch(text, /require\(|from "node:/)
  })

  it("holds nothing of effect and of Node for the office page", async () => {
    const { files, inputs } = await bundlePage()
    const allowed =
      /^(src\/domain\/|src\/main\/page\/|(?:\.\.\/)*(?:[\w/]+\/)?node_modules\/(preact|@preact\/signals(-core)?|marked)\/)/
    assert.deepStrictEqual(
      inputs.filter((path) => !allowed.test(path)),
      []
    )
    assert.notMatch([...files.values()].join("\n"), /require\(|from "node:/)
  })

  it("is small for the office page", async () => {
    const { gzippedBytes } = await bundlePage()
    assert.isBelow(gzippedBytes, maxGzippedBytes)
  })

  it("runs without Node for the domain", async () => {
    const { text } = await bundle({
      stdin: {
        contents: `import { parseWindowUri } from "./src/main/entrypoints/domain.ts"
          globalThis.result = parseWindowUri("window://h?priority=7").success.priority`
      }
    })
    const { runInNewContext } = await import("node:vm")
    const world: { result?: number } = {}
    runInNewContext(text, Object.assign(world, { globalThis: world }))
    assert.strictEqual(world.result, 7)
  })
})

describe("packageVersion", () => {
  it("equals the version in package.json", () => {
    const { version: packaged } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string }
    assert.strictEqual(packageVersion, packaged)
  })
})
