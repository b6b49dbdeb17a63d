import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { generateReference, referenceFolder } from "../scripts/reference/generate.ts"
import { mcpGuide, readMcpGuide, withSummary } from "../scripts/reference/mcpConformance.ts"
import { metricDefinitions, metricPrefix } from "../src/application/server/observability/ServerMetrics.ts"
import { errorCodes } from "../src/domain/model/ProtocolError.ts"
import { cliConfigLayer } from "../src/main/cli/completion/completionScripts.ts"
import { rootCommand } from "../src/main/cli/root.ts"

const read = (name: string): string => readFileSync(join(referenceFolder, name), "utf8")

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join("src", name), "utf8"))

const unique = (words: Iterable<string>): ReadonlyArray<string> => [...new Set(words)].sort()

/** All first groups of the pattern in the sources. */
const found = (pattern: RegExp): ReadonlyArray<string> =>
  unique(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, word = ""]) => word)))

/** The names that an entry point exports. Entry points only list names. */
const exportsOf = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(file, "utf8")
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) =>
    names.split(",").map((name) =>
      name
        .trim()
        .replace(/^type /, "")
        .replace(/^\S+ as /, "")
    )
  )
  const modules = [...text.matchAll(/^export \* as (\w+)/gm)].map(([, name = ""]) => `${name}.*`)
  const declared = [...text.matchAll(/^export (?:declare )?(?:const|class|type|interface) (\w+)/gm)].map(
    ([, name = ""]) => name
  )
  const passedOn = [...text.matchAll(/^export (?:type )?\* from "([^"]+)"/gm)].flatMap(([, path = ""]) =>
    exportsOf(join(dirname(file), path))
  )
  return unique([...listed.filter((name) => name !== ""), ...modules, ...declared, ...passedOn])
}

const entryPoints = Object.entries(
  (
    JSON.parse(readFileSync("package.json", "utf8")) as {
      readonly exports: { readonly [path: string]: string | { readonly "a2c-source": string } }
    }
  ).exports
).flatMap(([path, target]) => (typeof target === "string" ? [] : [{ path, source: target["a2c-source"] }]))

/** The paths of a command and its subcommands. */
const pathsOf = (
  command: Command.Command.Any,
  path: ReadonlyArray<string> = []
): ReadonlyArray<ReadonlyArray<string>> => [
  path,
  ...command.subcommands.flatMap(({ commands }) => commands.flatMap((child) => pathsOf(child, [...path, child.name])))
]

const helpOf = Effect.fnUntraced(function* (path: ReadonlyArray<string>) {
  const lines: Array<string> = []
  const write = (...words: ReadonlyArray<unknown>) => void lines.push(words.join(" "))
  yield* Command.runWith(rootCommand, { version: "0" })([...path, "--help"]).pipe(
    Effect.provideService(Console.Console, { ...globalThis.console, log: write, error: write }),
    Effect.provide([NodeServices.layer, cliConfigLayer])
  )
  return stripVTControlCharacters(lines.join("\n"))
})

const helpPages = Effect.forEach(pathsOf(rootCommand), (path) => Effect.map(helpOf(path), (help) => ({ path, help })))

const flagsOf = (help: string): ReadonlyArray<string> =>
  unique([...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag = ""]) => flag))

/** The page of an entry point. */
const exportsPage = (path: string): string => read(`exports-${path.slice(2) || "main"}.md`)

const chapter = (text: string, heading: string): string =>
  `${text}\n## `.split(`\n## ${heading}\n`, 2)[1]?.split("\n## ", 1)[0] ?? ""

/** Asserts that none of at least `min` things is missing. */
const assertComplete = <A>(things: ReadonlyArray<A>, min: number, isListed: (thing: A) => boolean): void => {
  assert.isAtLeast(things.length, min)
  assert.deepStrictEqual(
    things.filter((thing) => !isListed(thing)),
    []
  )
}

describe("reference", () => {
  it("equals what the code gives; npm run reference writes it", async () => {
    const generated = await generateReference()
    assert.deepStrictEqual(readdirSync(referenceFolder).sort(), [...generated.keys()].sort())
    for (const [name, text] of generated) assert.strictEqual(read(name), text, `${name} is out of date`)
  })

  it.effect("lists every command with every flag", () =>
    Effect.gen(function* () {
      const commands = read("commands.md")
      const pages = yield* helpPages
      const everywhere = flagsOf(pages[0]?.help ?? "")
      const things = pages.flatMap(({ help, path }) =>
        flagsOf(help)
          .filter((flag) => path.length === 0 || !everywhere.includes(flag))
          .map((flag) => [["a2c", ...path].join(" "), flag] as const)
      )
      assertComplete(things, 200, ([command, flag]) => {
        const section = chapter(commands, command === "a2c" ? "Flags of every command" : command)
        const isInherited = new RegExp(`^Flags of the command above it: .*\`${flag}\``, "m").test(section)
        return isInherited || new RegExp(`^\\| (?:\`-\\w\`, )?\`${flag}[ \`]`, "m").test(section)
      })
    })
  )

  it.effect("lists every environment variable", () =>
    Effect.gen(function* () {
      const pages = yield* helpPages
      const inHelp = pages.flatMap(({ help }) => help.match(/\b[A-Z][A-Z\d]*(?:_[A-Z\d]+)+\b/g) ?? [])
      const inSources = found(/"((?:A2C|OTEL)_\w*[A-Z\d]|XDG_\w+|NODE_USE_\w+)"/g)
      assertComplete([...inHelp, ...inSources], 80, (name) => read("variables.md").includes(`\n| \`${name}\` |`))
    })
  )

  it("lists every metric with its labels", () => {
    assertComplete(Object.entries(metricDefinitions), 30, ([name, { labels }]) => {
      const row = new RegExp(`^\\| \`${metricPrefix}${name}\` .*`, "m").exec(read("metrics.md"))?.[0] ?? ""
      return row !== "" && labels.every((label) => row.includes(`\`${label}\``))
    })
  })

  it("lists every error code and error tag", () => {
    const errors = read("errors.md")
    assertComplete(Object.entries(errorCodes), 30, ([name, code]) => errors.includes(`\n| ${code} | \`${name}\` |`))
    const tags = found(/TaggedError(?:<\w+>\(\))?\(\s*"(\w+)"/g)
    assertComplete(tags, 50, (tag) => errors.includes(`\n| [\`${tag}\`]`))
  })

  it("sums up the conformance suite in the guide to MCP", () => {
    assert.strictEqual(readMcpGuide(), withSummary(readMcpGuide()), `write ${mcpGuide} with npm run reference`)
  })

  it("lists every event", () => {
    const events = read("events.md")
    const literal = found(/"((?:client|server|notify):\w+)"/g)
    const updates = found(/defineUpdate\("\w+", "(\w+)"\)/g).flatMap((name) => [`server:${name}`, `notify:${name}`])
    assert.isAtLeast(updates.length, 10)
    assertComplete([...literal, ...updates], 30, (event) => events.includes(`\`${event}\``))
  })

  it("lists every log message", () => {
    const literal = found(/\bEffect\.log(?:Debug|Info|Warning|Error)\(\s*"([^"]+)"/g)
    assertComplete(literal, 100, (message) => read("log-messages.md").includes(`\n| \`${message}\` |`))
  })

  it("lists every exported name at its entry point", () => {
    const things = entryPoints.flatMap(({ path, source }) => exportsOf(source).map((name) => [path, name] as const))
    assertComplete(things, 500, ([path, name]) =>
      exportsPage(path).includes(name.endsWith(".*") ? `\n### ${name.slice(0, -1)}` : `\n### ${name}\n`)
    )
  })

  it("shows a signature for every exported name, with links to the types on its page", () => {
    for (const { path } of entryPoints) {
      const [, ...sections] = exportsPage(path).split("\n### ")
      for (const section of sections) assert.match(section, /```ts\n\S[^]*\n```\n\n\[Source\]\(/)
    }
    const [, connect = ""] = exportsPage("./promise").split("\n### connectAgent\n")
    const parameter = "options: NodeAgentConnectOptions"
    assert.include(connect.split("\n### ")[0], parameter)
    assert.include(connect.split("\n### ")[0], "[`NodeAgentConnectOptions`](#nodeagentconnectoptions)")
  })

  it("shows the members that a type has from types that are not exported, with their comments", () => {
    const [, agent = ""] = exportsPage("./promise").split("\n### ConnectedAgent\n")
    const [members = ""] = agent.split("\n### ")
    assert.match(members, /\/\*\* The skills of a Computer\. \*\/\n {2}readonly skills: \(/)
    assert.include(members, "AsyncIterable<readonly ApprovalView[]>")
  })
})
