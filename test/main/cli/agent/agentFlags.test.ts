import { existsSync, writeFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type * as flags from "../../../../src/main/cli/agent/flags.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { type ComputerOptions } from "../../../../src/main/entrypoints/promise.ts"
import { hangingTool, resource, textResult, tool } from "../../../conformance/members.ts"
import { inOffice, type PromiseOffice } from "../../promise/promiseOffice.ts"
import { type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cInProcess, a2cRunning, type Outcome, prints, serverInProcess } from "../inProcess.ts"
import { joinSilently } from "./silentComputer.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const folder = folderOfTests()

const output = join(folder, "output")
const argumentsFile = join(folder, "arguments.json")
writeFileSync(argumentsFile, '{"word":"given"}')

const window = (name: string) => `window://com.example.notes/${name}`

const dpe = (name: string, type: string) =>
  resource(`dpe://com.example/${name}`, ["{}"], { _meta: { page_count: 1, file_type: type, keywords: [name, "all"] } })

const app = { _meta: { ui: { visibility: ["app"] } } }

const parts = {
  capabilities: { prompts: true },
  answer: (method: string, { arguments: words }: JsonObject) =>
    Effect.succeed<JsonObject>(
      method === "prompts/list"
        ? { prompts: [{ name: "greet", arguments: [{ name: "who" }] }] }
        : {
            messages: [{ role: "user", content: { type: "text", text: `\u001b[31mgreets ${JSON.stringify(words)}` } }]
          }
    ),
  tools: [
    tool("panel", undefined, app),
    tool("echo", (params) => Effect.succeed(textResult(`echoes ${JSON.stringify(params)}`))),
    tool("red", () => Effect.succeed(textResult("\u001b[31mred")))
  ],
  resources: [
    resource(window("main"), ["\u001b[31mmain"]),
    resource(window("other"), ["other"]),
    dpe("one", "pdf"),
    dpe("two", "markdown")
  ]
}

const run = (at: PromiseOffice, ...words: ReadonlyArray<string>): Promise<Outcome> =>
  Effect.runPromise(Effect.scoped(a2cInProcess("agent", "--server", at.server.url, "--office", "team", ...words)))

/** A Computer `desk` with the parts above, whose calls need no consent, and one without tools. */
const computers = async (at: PromiseOffice, more: Partial<ComputerOptions> = {}) => {
  const alpha = { ...(await at.mcpServer(parts)), default_tool_meta: { auto_apply: true } }
  const beta = await at.mcpServer({ resources: [resource("note:beta")] })
  await at.computer({ config: { servers: { alpha, beta } }, ...more })
  await at.computer({ name: "empty", ...(more.protocol !== undefined && { protocol: more.protocol }) })
}

/** One office for all subcommands that change nothing. */
let office: PromiseOffice
let finish = () => {}
let finished = Promise.resolve()

beforeAll(async () => {
  const opened = Promise.withResolvers<PromiseOffice>()
  const end = Promise.withResolvers<void>()
  finish = end.resolve
  finished = inOffice(async (one) => {
    const skills = await one.folder()
    await mkdir(join(skills, "pdf"))
    await writeFile(join(skills, "pdf", "SKILL.md"), "---\nname: pdf\ndescription: does pdf\n---\n\u001b[31mmain")
    await writeFile(join(skills, "pdf", "other.md"), "the other file")
    await computers(one, { skills: { userFolder: skills } })
    opened.resolve(one)
    await end.promise
  })
  office = await opened.promise
})
afterAll(async () => {
  finish()
  await finished
})

/** A row of a flag of a subcommand: an outcome of the command with this flag. */
const subcommand = (
  command: ReadonlyArray<string>,
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (outcome: Outcome) => unknown
): FlagRow => [args, outcomes, (given) => Effect.promise(async () => select(await run(office, ...command, ...given)))]

const isFailed = ({ failure }: Outcome): boolean => failure !== undefined

/** A row of a flag that all subcommands have: what a list of the members gives. */
const shared = (
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (outcome: Outcome) => unknown,
  prepare: (at: PromiseOffice, isGiven: boolean) => Promise<unknown> = () => Promise.resolve()
): FlagRow => [
  args,
  outcomes,
  (given) =>
    Effect.promise(() =>
      inOffice(async (other) => {
        await other.computer()
        await prepare(other, given.length > 0)
        return select(await run(other, ...given, "members"))
      })
    )
]

const sharedRows: FlagRows<Omit<flags.AgentSharedOptions, "server" | "office">> = {
  name: shared(["--name", "brain"], [false, true], prints("brain")),
  tokenFile: shared(["--token-file", join(folder, "missing")], [false, true], isFailed),
  tlsCa: shared(["--tls-ca", join(folder, "missing")], [false, true], isFailed),
  protocol: shared(["--protocol", "0.4"], [true, false], prints("desk")),
  takeOver: shared(["--take-over"], [true, false], isFailed, (other) => other.agent({ name: "a2c-agent" })),
  wait: shared(["--wait", "0"], [true, false], isFailed, async (other, isGiven) => {
    const agent = await other.agent()
    if (isGiven) setTimeout(() => void agent.close(), 300)
  }),
  json: shared(["--json"], [false, true], prints("["))
}

describe("a flag of a2c agent", () => {
  testFlags(sharedRows)
})

/** The flags of a subcommand beside those of all, and beside its words. */
type Own<Options, Words extends string = never> = Omit<Options, keyof flags.AgentSharedOptions | Words>

/** A row of the timeout of a subcommand that queries a Computer which never replies. */
const queryTimeout = (...command: ReadonlyArray<string>): FlagRow => [
  ["--timeout", "1"],
  ["waits", "failed"],
  (given) =>
    Effect.gen(function* () {
      const url = yield* serverInProcess
      const asked = yield* Deferred.make<void>()
      yield* joinSilently(url, "silent", () => Deferred.doneUnsafe(asked, Exit.void), "team")
      const agent = (...words: ReadonlyArray<string>) =>
        a2cInProcess("agent", "--server", url, "--office", "team", ...words)
      const querying = yield* Effect.forkScoped(Effect.scoped(agent(...command, ...given)))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("1 second")
      // The query may follow the first request of the view.
      while (given.length > 0 && querying.pollUnsafe() === undefined) {
        yield* Effect.promise(() => setImmediate())
        yield* TestClock.adjust("1 second")
      }
      if (given.length === 0) yield* Effect.scoped(agent("members"))
      return querying.pollUnsafe() === undefined ? "waits" : "failed"
    }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
]

const membersRows: FlagRows<Own<flags.OptionsOf<"members">>> = {
  watch: [
    ["--watch"],
    [true, false],
    Effect.fnUntraced(function* (given) {
      const at = ["--server", office.server.url, "--office", "team"]
      const { prints: awaitLine } = yield* a2cRunning("agent", ...at, "members", ...given)
      return (yield* awaitLine("desk")).endsWith("0.2.0")
    })
  ]
}

const toolsRows: FlagRows<Own<flags.OptionsOf<"tools">>> = {
  apps: subcommand(["tools"], ["--apps"], [false, true], prints("panel")),
  computer: subcommand(["tools"], ["--computer", "empty"], [true, false], prints("echo")),
  timeout: queryTimeout("tools")
}

const callRows: FlagRows<Own<flags.OptionsOf<"call">, "tool">> = {
  computer: subcommand(["call", "echo"], ["--computer", "empty"], [true, false], prints("echoes")),
  words: subcommand(["call", "echo"], ["word=given"], [false, true], prints("given")),
  args: subcommand(["call", "echo"], ["--args", `@${argumentsFile}`], [false, true], prints("given")),
  raw: subcommand(["call", "red"], ["--raw"], [false, true], prints("\u001b[31m")),
  timeout: [["--timeout", "1"], ["waits", "failed"], (given) => hung(given.length > 0, given)],
  deadline: [["--deadline", "1"], ["waits", "failed"], (given) => hung(given.length > 0, given)]
}

/** Whether a call of a tool that hangs fails after a second of virtual time. */
const hung = (isFinite: boolean, given: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { hanging, started } = yield* hangingTool("hang")
    const opened = Promise.withResolvers<PromiseOffice>()
    const end = Promise.withResolvers<void>()
    const closed = inOffice(async (other) => {
      const alpha = { ...(await other.mcpServer({ tools: [hanging] })), default_tool_meta: { auto_apply: true } }
      await other.computer({ config: { servers: { alpha } } })
      opened.resolve(other)
      await end.promise
    })
    yield* Effect.addFinalizer(() => {
      end.resolve()
      return Effect.promise(() => closed)
    })
    const { server } = yield* Effect.promise(() => opened.promise)
    const agent = (...words: ReadonlyArray<string>) =>
      a2cInProcess("agent", "--server", server.url, "--office", "team", ...words)
    const calling = yield* Effect.forkScoped(Effect.scoped(agent("call", "hang", ...given)))
    yield* started
    yield* TestClock.adjust("1 second")
    if (isFinite) yield* Fiber.await(calling)
    else yield* Effect.scoped(agent("members"))
    return calling.pollUnsafe() === undefined ? "waits" : "failed"
  }).pipe(Effect.provide(TestClock.layer()))

const startRows: FlagRows<Own<flags.OptionsOf<"start">, "tool" | "timeout">> = {
  computer: [["--computer", "empty"], [true, false], (given) => started(["word=given", ...given])],
  words: [["word=given"], [false, true], (given) => started(given)],
  args: [["--args", `@${argumentsFile}`], [false, true], (given) => started(given)]
}

/** Whether the result of a started call has the arguments. */
const started = (given: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const { stdout } = await run(office, "start", "echo", ...given)
    return prints("given")(await run(office, "task", stdout.trim()))
  })

/** A row of a flag of `task`: an outcome for a started call. */
const task = (
  name: string,
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (outcome: Outcome) => unknown
): FlagRow => [
  args,
  outcomes,
  (given) =>
    Effect.promise(async () => {
      const { stdout } = await run(office, "start", name)
      return select(await run(office, "task", stdout.trim(), ...given))
    })
]

const taskRows: FlagRows<Own<flags.OptionsOf<"task">, "id">> = {
  status: task("echo", ["--status"], [true, false], prints("echoes")),
  cancel: task("echo", ["--cancel"], [true, false], prints("echoes")),
  raw: task("red", ["--raw"], [false, true], prints("\u001b[31m"))
}

const desktopRows: FlagRows<Own<flags.OptionsOf<"desktop">>> = {
  computer: subcommand(["desktop"], ["--computer", "empty"], [true, false], prints("main")),
  size: subcommand(["desktop"], ["--size", "1"], [true, false], (all) => prints("main")(all) && prints("other")(all)),
  window: subcommand(["desktop"], ["--window", window("other")], [true, false], prints("main")),
  raw: subcommand(["desktop"], ["--raw"], [false, true], prints("\u001b[31m")),
  timeout: queryTimeout("desktop")
}

const resourcesRows: FlagRows<Own<flags.OptionsOf<"resources">>> = {
  computer: subcommand(["resources"], ["--computer", "empty"], [true, false], prints("note:beta")),
  mcpServer: subcommand(["resources"], ["--mcp-server", "alpha"], [true, false], prints("note:beta")),
  timeout: queryTimeout("resources")
}

const findRows: FlagRows<Own<flags.OptionsOf<"find">>> = {
  computer: subcommand(["find", "all"], ["--computer", "empty"], [true, false], prints("dpe:")),
  keywords: subcommand(["find"], ["two"], [true, false], prints("one")),
  fileType: subcommand(["find", "all"], ["--file-type", "markdown"], [true, false], prints("one")),
  limit: subcommand(
    ["find", "all"],
    ["--limit", "1"],
    [true, false],
    (all) => prints("/one")(all) && prints("/two")(all)
  ),
  offset: subcommand(
    ["find", "all"],
    ["--offset", "1"],
    [true, false],
    (all) => prints("/one")(all) && prints("/two")(all)
  ),
  timeout: queryTimeout("find")
}

const skillRows: FlagRows<Own<flags.OptionsOf<"skill">, "skill">> = {
  computer: subcommand(["skill", "pdf"], ["--computer", "empty"], [true, false], prints("main")),
  path: subcommand(["skill", "pdf"], ["other.md"], [false, true], prints("the other file")),
  output: subcommand(["skill", "pdf"], ["--output", output], [false, true], () => existsSync(output)),
  raw: subcommand(["skill", "pdf"], ["--raw"], [false, true], prints("\u001b[31m")),
  timeout: queryTimeout("skill", "pdf")
}

/** A row of a flag of `put`: where a file is stored at a Computer of the protocol 0.4. */
const put = (
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (outcome: Outcome, uploads: string) => unknown
): FlagRow => [
  args,
  outcomes,
  (given) =>
    Effect.promise(() =>
      inOffice(async (other) => {
        const uploads = await other.folder()
        await computers(other, { uploads: { folder: uploads }, protocol: "0.4" })
        return select(
          await run(other, "--protocol", "0.4", "put", argumentsFile, "--computer", "desk", ...given),
          uploads
        )
      })
    )
]

const putRows: FlagRows<Own<flags.OptionsOf<"put">, "file" | "computer">> = {
  as: put(["--as", "other.json"], [false, true], prints("other.json"))
}

/** The message of the failure of a subcommand. */
const reasonIncludes =
  (words: string) =>
  ({ failure }: Outcome): boolean =>
    failure instanceof Error && failure.message.includes(words)

const dpeRows: FlagRows<Own<flags.OptionsOf<"dpe">, "uri">> = {
  computer: subcommand(
    ["dpe", "dpe://com.example/one"],
    ["--computer", "empty"],
    [true, false],
    reasonIncludes("Several Computers")
  )
}

const toolRows: FlagRows<Own<flags.OptionsOf<"tool">, "tool">> = {
  computer: subcommand(["tool", "echo"], ["--computer", "empty"], [true, false], prints("desk")),
  timeout: queryTimeout("tool", "echo")
}

const configRows: FlagRows<Own<flags.QueryOptions>> = {
  computer: subcommand(["config"], ["--computer", "empty"], [true, false], prints("alpha")),
  timeout: queryTimeout("config")
}

const skillsRows: FlagRows<Own<flags.QueryOptions>> = {
  computer: subcommand(["skills"], ["--computer", "empty"], [true, false], prints("pdf")),
  timeout: queryTimeout("skills")
}

/** The row of the words is in decidedTasks.test.ts, with a call that waits. */
const approvalsRows: FlagRows<Own<flags.OptionsOf<"approvals">, "words">> = {
  computer: subcommand(["approvals"], ["--computer", "absent"], [false, true], isFailed),
  action: subcommand(["approvals"], ["show"], [false, true], reasonIncludes("approvals show needs the ID")),
  id: subcommand(["approvals", "show"], ["3f2a"], [false, true], reasonIncludes("'3f2a'")),
  timeout: queryTimeout("approvals")
}

const promptsRows: FlagRows<Own<flags.QueryOptions>> = {
  computer: subcommand(["prompts"], ["--computer", "empty"], [true, false], prints("greet")),
  timeout: queryTimeout("prompts")
}

const promptRows: FlagRows<Own<flags.OptionsOf<"prompt">, "prompt">> = {
  computer: subcommand(["prompt", "greet"], ["--computer", "empty"], [true, false], prints("greets")),
  words: subcommand(["prompt", "greet"], ["who=Ada"], [false, true], prints("Ada")),
  raw: subcommand(["prompt", "greet"], ["--raw"], [false, true], prints("\u001b[31m")),
  timeout: queryTimeout("prompt", "greet")
}

const hostConfigRows: FlagRows<Own<flags.OptionsOf<"hostConfig">, "host">> = {
  url: subcommand(["mcp", "config", "cursor"], ["--url", "http://h.example/mcp"], [false, true], prints("h.example")),
  link: subcommand(["mcp", "config", "cursor"], ["--link"], [false, true], prints("cursor://"))
}

const printsVariable = (args: ReadonlyArray<string>, variable: string, value = args.at(-1)): FlagRow =>
  subcommand(["mcp", "config", "cursor"], args, [false, true], prints(`"${variable}": ${JSON.stringify(value)}`))

/** The flags by which the process that a host starts joins. */
const hostProcessRows: FlagRows<Omit<flags.AgentSharedOptions, "server" | "office" | "json">> = {
  name: printsVariable(["--name", "brain"], "A2C_NAME"),
  tokenFile: printsVariable(["--token-file", join(folder, "me.key")], "A2C_TOKEN_FILE"),
  tlsCa: printsVariable(["--tls-ca", join(folder, "ca.pem")], "A2C_TLS_CA"),
  protocol: printsVariable(["--protocol", "auto"], "A2C_PROTOCOL"),
  takeOver: printsVariable(["--take-over"], "A2C_TAKE_OVER", "true"),
  wait: printsVariable(["--wait", "0"], "A2C_WAIT")
}

describe.each([
  ["mcp config, for the process of the host,", hostProcessRows],
  ["members", membersRows],
  ["tools", toolsRows],
  ["call", callRows],
  ["start", startRows],
  ["task", taskRows],
  ["desktop", desktopRows],
  ["resources", resourcesRows],
  ["find", findRows],
  ["skill", skillRows],
  ["put", putRows],
  ["dpe", dpeRows],
  ["tool", toolRows],
  ["config", configRows],
  ["skills", skillsRows],
  ["approvals", approvalsRows],
  ["prompts", promptsRows],
  ["prompt", promptRows],
  ["mcp config", hostConfigRows]
] as const)("a flag of a2c agent %s", (_, rows) => {
  testFlags<object>(rows)
})

describe("a2c agent prompt", () => {
  it.each([
    [["who=Ada", "count:=7", "list:=[1]"], '{"who":"Ada","count":"7","list":"[1]"}'],
    [[`@${argumentsFile}`], '"given"']
  ])("passes all arguments as texts: %j", async (words, expected) => {
    assert.include((await run(office, "prompt", "greet", ...words)).stdout, expected)
  })

  it("names prompts like an unknown one", async () => {
    const { failure } = await run(office, "prompt", "great")
    assert.include(String(failure), "No prompt 'great' is in this office: did you mean 'greet'?")
  })
})
