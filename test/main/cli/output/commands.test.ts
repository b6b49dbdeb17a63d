import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, expect, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"
import { CommandFailed } from "../../../../src/main/CommandFailed.ts"
import { reportFailure } from "../../../../src/main/cli/output/print.ts"
import { a2cInProcess } from "../inProcess.ts"
import { scriptedOffice } from "./scriptedOffice.ts"

/** Runs an effect as on a terminal of this width, without colours. */
const onColumns = <A, E, R>(columns: number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const streams = [process.stdout, process.stderr]
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const before = streams.map((stream) => Object.getOwnPropertyDescriptors(stream))
      const noColour = process.env["NO_COLOR"]
      process.env["NO_COLOR"] = "1"
      for (const stream of streams) {
        const value = (one: unknown) => ({ value: one, configurable: true, writable: true })
        Object.defineProperties(stream, { isTTY: value(Number.isFinite(columns)), columns: value(columns) })
      }
      return { before, noColour }
    }),
    () => effect,
    ({ before, noColour }) =>
      Effect.sync(() => {
        if (noColour === undefined) delete process.env["NO_COLOR"]
        else process.env["NO_COLOR"] = noColour
        for (const [index, stream] of streams.entries()) {
          for (const name of ["isTTY", "columns"] as const) {
            const own = before[index]?.[name]
            if (own === undefined) Reflect.deleteProperty(stream, name)
            else Object.defineProperty(stream, name, own)
          }
        }
      })
  )
}

/** Below the working folder: its name is the same on every machine. */
const folder = "node_modules/.cache/a2c-output"

const notesServer = join(import.meta.dirname, "../../../../src/main/demo/notesServer.ts")

/** Files and a Server for the commands. */
const place = Effect.gen(function* () {
  mkdirSync(folder, { recursive: true })
  const file = (name: string, value: unknown) => {
    const path = join(folder, name)
    writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value, null, 2))
    return path
  }
  const inputs = [
    { id: "token", type: "promptString", password: true, description: "Token" },
    { id: "region", type: "pickString", options: ["eu-central", "us-east"], default: "eu-central" }
  ]
  const web = { type: "http", url: "https://files.example.org/mcp?key=${input:token}", disabled: true }
  const notes = { type: "stdio", command: "${env:NODE_OF_TESTS}", args: [notesServer] }
  const config = file("mcp.json", { servers: { notes, web }, inputs })
  const wrong = file("wrong.json", {
    servers: {
      files: { command: 7 },
      search: { type: "stdio", command: "no-such-command-here", argz: ["${input:missing}"] }
    }
  })
  const rules = "rules:\n  - { action: deny, tool: clear_notes, reason: notes stay on the board }\n"
  const hash = (digit: string) => `sha256:${digit.repeat(64)}`
  const keys = file("keys.json", {
    keys: [
      { hash: hash("a"), subject: "desk", rights: ["computer"], offices: ["team*", "laboratory"], names: ["desk"] },
      {
        hash: hash("b"),
        subject: "ann",
        rights: ["agent", "operator"],
        offices: ["*"],
        names: ["*"],
        expires: "2030-01-31T12:00:00Z"
      }
    ]
  })
  const packs = join(folder, "packs")
  mkdirSync(join(packs, "counter"), { recursive: true })
  writeFileSync(
    join(packs, "counter", "counter_tool.js"),
    `export class CounterTool {
      getRouteConfig() { return { endpoint: "/tools/counter", params: { type: "object" } } }
      listTools() { return [{ name: "count_words", description: "Count the words of a text in any language, and its lines" }] }
      callTool() { throw new Error("The text has more words than this tool is able to count in one call") }
    }`
  )
  mkdirSync(join(packs, "broken"), { recursive: true })
  writeFileSync(join(packs, "broken", "broken_tool.js"), "export const nothing = 1")
  return { config, keys, packs, policy: file("policy.yaml", rules), url: yield* scriptedOffice, wrong }
})

type Place = Effect.Success<typeof place>

const runs = (...commands: ReadonlyArray<string>) => commands.flatMap((command) => ["--run", command])

/** The command lines of each golden file. */
const groups: { readonly [name: string]: (at: Place) => ReadonlyArray<ReadonlyArray<string>> } = {
  agent: ({ url }) =>
    [
      ["members"],
      ["tools"],
      ["tool", "list_directory", "--computer", "desk"],
      ["tool", "list_directory"],
      ["tool", "get_sun"],
      ["call", "list_directory", "--computer", "desk", "path=/"],
      ["call", "list_directory", "--computer", "desk", "pth=/"],
      ["call", "list_directory", "--computer", "desk", "path=/", "recursive=maybe"],
      ["call", "get_sum", "--computer", "desk", "{}"],
      ["call", "missing_tool_with_a_long_name", "--computer", "desk", "{}"],
      ["call", "get_sum", "--computer", "desc", "path=/"],
      ["desktop", "--computer", "desk"],
      ["config", "--computer", "desk"],
      ["resources"],
      ["find", "report"],
      ["dpe", "dpe://host/report"],
      ["skills", "--computer", "desk"],
      ["approvals", "--computer", "desk"],
      ["approvals", "show", "3f2a", "--computer", "desk"],
      ["approvals", "show", "ffff", "--computer", "desk"],
      ["task", "3f2a"],
      ["put", "/no/such/file", "--computer", "desk"],
      ["mcp", "config", "cursr"],
      ["mcp", "config", "chatgpt"],
      ["mcp", "config", "jetbrains"],
      ["mcp", "config", "cursor", "--url", "http://127.0.0.1:7080/mcp", "--link"]
    ].map((words) => ["agent", "--server", url, "--office", "team", ...words]),
  server: ({ keys, url }) => [
    ["server", "status", url],
    ["server", "status", url, "--offices"],
    ["server", "health", url],
    ["server", "status", "http://127.0.0.1:1"],
    ["server", "key", "--list", keys],
    ["server", "key", "--revoke", keys, "carola"],
    ["server", "key", "--list", join(folder, "missing.json")],
    ["server", "--host", "0.0.0.0"],
    ["server", "--tls-cert", "cert.pem"]
  ],
  computer: ({ config, policy, wrong }) => [
    ["computer", "check", config],
    ["computer", "check", wrong],
    ["computer", "explain", "--config", config, "--policy", policy, "--tool", "add_note", "text=hello"],
    ["computer", "explain", "--config", config, "--policy", policy, "--tool", "clear_notes"],
    ["computer", "explain", "--config", config, "--tool", "no_such_tool"],
    ["computer", "--config", config, ...runs("help", "help server add", "status", "servers", "tools", "tool add_note")],
    ["computer", "--config", config, ...runs("call add_note text=hello", "desktop", "prompts", "inputs")],
    [
      "computer",
      "--config",
      config,
      ...runs("approvals", "grants", "approve 3f2a", "call add_not", "stats", "server stop x")
    ],
    ["computer"],
    ["computer", "--config", config]
  ],
  others: ({ packs }) => [
    ["tools", "list", packs],
    ["tools", "list", join(folder, "empty")],
    ["tools", "call", "count_words", "--dir", packs, "text=hello"],
    ["tools", "call", "count_wrds", "--dir", packs],
    ["devices", "connect", "--to", "127.0.0.1:1"],
    ["devices", "gateway", "--stdio", "--http", "0"],
    ["devices", "gateway", "--host", "0.0.0.0"]
  ]
}

const printed = (printing: Effect.Effect<void>) =>
  Effect.gen(function* () {
    let text = ""
    const error = (line: string) => void (text += `${line}\n`)
    yield* Effect.provideService(printing, Console.Console, { ...globalThis.console, error })
    return text
  })

/** What a command prints, and its failure as `a2c` prints it. */
const outputOf = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const { failure, stderr, stdout } = yield* a2cInProcess(...args)
  const errors = failure instanceof CommandFailed ? yield* printed(reportFailure(failure, false)) : ""
  return [stdout, stderr, errors].join("")
})

/** Gives what differs between two runs the same length in both. */
const withoutChance = (text: string, { url }: Place): string =>
  text
    .replaceAll(new URL(url).host, "127.0.0.1:7070")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2030-01-31T12:00:00.000Z")

/** Words of a text, without those that a table cuts, and the ends of lines of a command. */
const wordsIn = (text: string): ReadonlyArray<string> =>
  text
    .split(/\s+/)
    .filter((word) => word !== "\\" && !word.endsWith("…"))
    .map((word) => word.replace(/[,;]$/, "").toLowerCase())

/** The log has one line for each event, and a person copies its values. */
/** The result of a tool is printed as it came, and JSON in its usual form. */
const isResult = (line: string): boolean => /^(?:The folder holds 3 files|\s*[{}"\]])/.test(line)

const isLog = (line: string): boolean => /^\d\d:\d\d:\d\d\.\d{3} /.test(line)

beforeAll(() => void (process.env["NODE_OF_TESTS"] = process.execPath))
afterAll(() => void delete process.env["NODE_OF_TESTS"])

describe.each(Object.entries(groups))("the output of a2c %s", (name, commandsOf) => {
  it.live.each([40, 80, 120])("fits %i columns, and breaks no word", (columns) =>
    Effect.gen(function* () {
      const at = yield* place
      let file = ""
      for (const args of commandsOf(at)) {
        const [fitted, whole] = [
          yield* onColumns(columns, outputOf(args)),
          yield* onColumns(Number.POSITIVE_INFINITY, outputOf(args))
        ]
        const words = new Set(wordsIn(whole))
        const lines = fitted.split("\n").filter((line) => !isLog(line))
        // A word that is wider than the terminal stays whole: a command, a path or a URL that a person copies.
        const tooWide = lines.filter(
          (line) =>
            !isResult(line) && CliOutput.displayWidth(line) > columns && /\S\s+\S/.test(line.replace(/^a2c: /, ""))
        )
        assert.deepStrictEqual(tooWide, [], args.join(" "))
        assert.deepStrictEqual(
          wordsIn(lines.join("\n")).filter((word) => !words.has(word)),
          [],
          args.join(" ")
        )
        file += `$ a2c ${args.join(" ")}\n${lines.join("\n")}\n`
      }
      yield* Effect.promise(() => expect(withoutChance(file, at)).toMatchFileSnapshot(`${name}-${columns}.txt`))
    })
  )
})
