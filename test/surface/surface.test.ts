import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { expect } from "vitest"
import { metricDefinitions, metricPrefix } from "../../src/application/server/observability/ServerMetrics.ts"
import { errorCodes } from "../../src/domain/model/ProtocolError.ts"
import { rootCommand } from "../../src/main/cli/root.ts"

/**
 * Compares the public surface with the files of this folder. After an intended change run `npx vitest run
 * test/surface --update`.
 */
const pin = (file: string, lines: Iterable<string>): Promise<void> =>
  expect(`${[...lines].join("\n")}\n`).toMatchFileSnapshot(file)

const sourceFiles = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join("src", name), "utf8"))

const unique = (words: Iterable<string>): ReadonlyArray<string> => [...new Set(words)].sort()

/** All first groups of the pattern in the sources. */
const found = (pattern: RegExp): ReadonlyArray<string> =>
  unique(sourceFiles.flatMap((text) => [...text.matchAll(pattern)].map(([, word = ""]) => word)))

/** The names that an entry point exports, with types marked. Entry points only list names. */
const exportsOf = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(file, "utf8")
  const listed = [...text.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, allTypes, names = ""]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => {
        const exported = name.replace(/^type /, "").replace(/^\S+ as /, "")
        return allTypes !== undefined || name.startsWith("type ") ? `type ${exported}` : exported
      })
  )
  const modules = [...text.matchAll(/^export \* as (\w+)/gm)].map(([, name = ""]) => `${name}.*`)
  const declared = [...text.matchAll(/^export (?:declare )?(const|class|type|interface) (\w+)/gm)].map(
    ([, kind = "", name = ""]) => (kind === "type" || kind === "interface" ? `type ${name}` : name)
  )
  return unique([...listed, ...modules, ...declared])
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
    Effect.provide(NodeServices.layer)
  )
  return stripVTControlCharacters(lines.join("\n"))
})

const flagsOf = (help: string): ReadonlyArray<string> =>
  unique([...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+(?: \S+)?)/gm)].map(([, flag = ""]) => flag))

describe("public surface", () => {
  it("exports the listed names", () =>
    pin(
      "exports.txt",
      entryPoints.flatMap(({ path, source }) => [
        `a2c-smcp${path.slice(1)}`,
        ...exportsOf(source).map((name) => `  ${name}`)
      ])
    ))

  it("defines the listed error tags and codes", () =>
    pin("errors.txt", [
      "tags",
      ...found(/TaggedError(?:<\w+>\(\))?\(\s*"(\w+)"/g).map((tag) => `  ${tag}`),
      "codes of the protocol",
      ...Object.entries(errorCodes).map(([name, code]) => `  ${code} ${name}`)
    ]))

  it("has the listed metrics", () =>
    pin(
      "metrics.txt",
      Object.entries(metricDefinitions).map(
        ([name, { kind, labels }]) => `${metricPrefix}${name}{${labels.join(",")}} ${kind}`
      )
    ))

  it.effect(
    "defines the listed commands, flags and environment variables",
    Effect.fnUntraced(function* () {
      const pages = yield* Effect.forEach(pathsOf(rootCommand), (path) =>
        Effect.map(helpOf(path), (help) => ({ path, help }))
      )
      const [first] = pages
      const everywhere = flagsOf(first?.help ?? "")
      const commands = pages.flatMap(({ help, path }) => [
        ["a2c", ...path].join(" "),
        ...flagsOf(help)
          .filter((flag) => path.length === 0 || !everywhere.includes(flag))
          .map((flag) => `  ${flag}`)
      ])
      const inHelp = pages.flatMap(({ help }) =>
        [...help.matchAll(/\b[A-Z][A-Z\d]*(?:_[A-Z\d]+)+\b/g)].map(([name]) => name)
      )
      const variables = unique([...inHelp, ...found(/"((?:A2C|OTEL)_\w*[A-Z\d])"/g)])
      yield* Effect.promise(() =>
        pin("settings.txt", [...commands, "environment variables", ...variables.map((name) => `  ${name}`)])
      )
    })
  )
})
