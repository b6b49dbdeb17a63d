import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { Effect, Fiber, Schedule, type Scope } from "effect"
import { asObject, asString, isJsonObject, type JsonObject } from "../../src/domain/json.ts"
import { chromiumBrowser } from "../programs/chromiumBrowser.ts"
import { locate } from "../programs/Program.ts"
import { mcpSkill, notes, pictureSize, sampleBytes, windows } from "./fixture/contents.ts"
import { PartError, type ResourceView } from "./members.ts"
import { inputValues, userSkill, type World, writeSkill } from "./world.ts"

/** One check of a pairing, on the world that the earlier steps left. */
export interface Step {
  /** For the table: what works. */
  readonly title: string
  readonly run: (world: World) => Effect.Effect<void, PartError, Scope.Scope>
  /** False where the peer or its line does not have this. */
  readonly isOffered?: (world: World) => boolean
  /** In seconds. */
  readonly timeout?: number
}

const fail = (message: string) => Effect.fail(new PartError({ message }))

const check = (holds: boolean, message: () => string): Effect.Effect<void, PartError> =>
  holds ? Effect.void : Effect.suspend(() => fail(message()))

const show = (value: unknown): string => (JSON.stringify(value) ?? "undefined").slice(0, 300)

const checkEqual = (actual: unknown, expected: unknown, what: string) =>
  check(JSON.stringify(actual) === JSON.stringify(expected), () => `${what}: ${show(actual)}, not ${show(expected)}`)

/** Repeats a check until it passes; the timeout of the step bounds it. */
const eventually = <R>(effect: Effect.Effect<void, PartError, R>, seconds = 10) =>
  Effect.retry(effect, { times: seconds * 4, schedule: Schedule.spaced("250 millis") })

/** The effect must fail; gives its error. */
const rejected = <A, R>(effect: Effect.Effect<A, PartError, R>, what: string) =>
  Effect.matchEffect(effect, {
    onFailure: (error) => Effect.succeed(error),
    onSuccess: () => fail(`${what} was not rejected`)
  })

const blocks = ({ content }: JsonObject): ReadonlyArray<JsonObject> =>
  Array.isArray(content) ? content.filter(isJsonObject) : []

const textOf = (result: JsonObject): string =>
  blocks(result)
    .map(({ text }) => asString(text) ?? "")
    .join("\n")

const metaOf = ({ _meta, meta }: JsonObject): JsonObject => asObject(isJsonObject(meta) ? meta : _meta)

const callTool = (world: World, tool: string, params: JsonObject = {}, timeout = 15) =>
  world.agent.call({ computer: world.computerName, tool: world.toolName(tool), params, timeout })

const checkEcho = Effect.fnUntraced(function* (world: World) {
  const result = yield* callTool(world, "echo", { text: "hello" })
  yield* check(result["isError"] !== true, () => `an error: ${show(result)}`)
  yield* checkEqual(textOf(result), "echo: hello", "the text")
})

const checkComputers = (world: World, expected: ReadonlyArray<string>) =>
  Effect.flatMap(world.agent.computers, (found) => checkEqual(found, expected, "the Computers"))

const listTools = (world: World) => world.agent.tools(world.computerName)

const checkTools = Effect.fnUntraced(function* (world: World) {
  const tools = yield* listTools(world)
  const names = tools.map(({ name }) => name)
  const expected = ["echo", "fail", "slow", "picture"].map(world.toolName)
  yield* check(
    expected.every((name) => names.includes(name)),
    () => `the tools are ${show(names)}`
  )
  if (world.line !== "0.2") yield* checkEqual(tools[0]?.bundleId, world.serverId, "the bundle id")
})

const firstLines = (desktop: ReadonlyArray<string>): ReadonlyArray<string> =>
  desktop.map((window) => window.split("\n", 1)[0] ?? "")

const allResources = Effect.fnUntraced(function* ({ agent, computerName, serverId }: World) {
  const all: Array<ResourceView> = []
  let cursor: string | undefined
  do {
    const page = yield* agent.resources(computerName, serverId, cursor)
    all.push(...page.resources)
    cursor = page.cursor
  } while (cursor !== undefined)
  return all
})

const awaitEvent = (world: World, since: number, ...kinds: Parameters<World["agent"]["events"]["awaitEvent"]>[1]) =>
  world.agent.events.awaitEvent(since, kinds, world.computerName)

const sha256 = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex")

/** Uses what a further Computer of functions offers, until it leaves. */
const useFunctions = Effect.fnUntraced(function* (world: World, where: Parameters<World["joinWithFunctions"]>[0]) {
  const { agent, computerName } = world
  const computer = `functions-${where}`
  yield* Effect.scoped(
    Effect.gen(function* () {
      yield* world.joinWithFunctions(where, computer)
      yield* eventually(
        Effect.flatMap(agent.tools(computer), (tools) =>
          check(tools.length === 2, () => `the tools are ${show(tools)}`)
        )
      )
      const named = (yield* agent.tools(computer)).map(({ name }) => name)
      const toolOf = (name: string) => named.find((one) => one.endsWith(name)) ?? name
      const call = (tool: string, params: JsonObject) =>
        agent.call({ computer, tool: toolOf(tool), params, timeout: 15 })
      yield* checkEqual(textOf(yield* call("double", { number: 21 })), "doubled: 42", "the text")
      yield* checkEqual((yield* call("double", {}))["isError"], true, "isError without the parameter")
      const checkWindow = (text: string) =>
        eventually(
          Effect.flatMap(agent.desktop(computer), ([window]) =>
            check(window?.includes(text) === true, () => `the window is ${show(window)}`)
          )
        )
      yield* checkWindow("cancelled: 0")
      if (agent.cancelCall === undefined) return
      yield* agent.cancelCall({ computer, tool: toolOf("wait"), params: {}, timeout: 20 }, 0.5)
      yield* checkWindow("cancelled: 1")
    })
  )
  yield* eventually(checkComputers(world, [computerName]))
})

/** All steps, in their order. Those that damage the pairing come last. */
const stepTable = {
  join: {
    title: "Agent and Computer join with a token",
    run: Effect.fnUntraced(function* ({ agent, computer, office }) {
      yield* agent.join
      yield* computer.join(office)
    })
  },
  entered: {
    title: "the Agent learns of the Computer",
    run: (world) => awaitEvent(world, 0, "entered")
  },
  listRoom: {
    title: "list of the members",
    run: (world) => checkComputers(world, [world.computerName])
  },
  tools: {
    title: "list of the tools",
    // The MCP server may start only when the Computer has joined.
    run: (world) => eventually(checkTools(world))
  },
  inputs: {
    title: "inputs reach the MCP server",
    run: Effect.fnUntraced(function* ({ awaitJournal }) {
      for (const [id, value] of Object.entries(inputValues)) yield* awaitJournal(`${id} ${value}`)
    })
  },
  call: { title: "a call", run: checkEcho },
  failedCall: {
    title: "a call that fails",
    run: Effect.fnUntraced(function* (world) {
      const result = yield* callTool(world, "fail")
      yield* checkEqual(result["isError"], true, "isError")
      yield* checkEqual(textOf(result), "failed as told", "the text")
    })
  },
  unknownTool: {
    title: "a call of an unknown tool",
    run: Effect.fnUntraced(function* (world) {
      const result = yield* callTool(world, "missing")
      yield* checkEqual(result["isError"], true, "isError")
    })
  },
  approval: {
    title: "a call that waits for an approval at our Computer",
    isOffered: ({ pairing }) => pairing.computer === "ours",
    run: Effect.fnUntraced(function* (world) {
      const before = world.journalCount("call guarded")
      // One of the parts does not wait longer for an approval: the Computer ends the call within its timeout.
      const result = yield* callTool(world, "guarded", {}, 3)
      yield* checkEqual(result["isError"], true, "isError")
      yield* checkEqual(metaOf(result)["error_code"], 4005, "the error code")
      yield* checkEqual(world.journalCount("call guarded"), before, "the calls that ran")
      yield* checkEcho(world)
    })
  },
  beyondProtocol: {
    title: "tasks and MCP servers of our Computer, through any Server; others see a call of an unknown tool at most",
    isOffered: ({ agent }) => agent.beyondProtocol !== undefined,
    run: Effect.fnUntraced(function* (world) {
      const { agent, computerName: computer, pairing } = world
      const call = { computer, tool: world.toolName("echo"), params: { text: "hello" }, timeout: 15 }
      const found = yield* agent.beyondProtocol?.(call) ?? fail("the Agent knows no extensions")
      yield* checkEqual(found.servers > 0, pairing.computer === "ours", "whether the Computer describes MCP servers")
      yield* checkEqual(textOf(found.result), "echo: hello", "the text")
      yield* checkEcho(world)
    })
  },
  timeout: {
    title: "a call that times out",
    run: Effect.fnUntraced(function* (world) {
      const before = world.journalCount("cancelled")
      const result = yield* callTool(world, "slow", { seconds: 30 }, 1)
      yield* checkEqual(result["isError"], true, "isError")
      yield* check(metaOf(result)["a2c_timeout"] === true, () => `no a2c_timeout: ${show(result)}`)
      yield* world.awaitJournal("cancelled", before + 1)
    })
  },
  cancel: {
    title: "a cancelled call ends at the MCP server",
    isOffered: ({ agent }) => agent.cancelCall !== undefined,
    run: Effect.fnUntraced(function* (world) {
      const before = world.journalCount("cancelled")
      const call = { computer: world.computerName, tool: world.toolName("slow"), params: { seconds: 30 }, timeout: 20 }
      yield* world.agent.cancelCall?.(call, 0.5) ?? Effect.void
      yield* world.awaitJournal("cancelled", before + 1)
    })
  },
  picture: {
    title: "a picture of 600 KB",
    run: Effect.fnUntraced(function* (world) {
      const [image = {}] = blocks(yield* callTool(world, "picture"))
      yield* checkEqual(image["mimeType"], "image/png", "the MIME type")
      const data = Buffer.from(asString(image["data"]) ?? "", "base64")
      yield* check(data.equals(sampleBytes(pictureSize)), () => `other bytes, ${data.length} of ${pictureSize}`)
    })
  },
  desktop: {
    title: "the desktop",
    run: Effect.fnUntraced(function* ({ agent, computerName }) {
      const desktop = yield* agent.desktop(computerName)
      yield* checkEqual(firstLines(desktop), [windows.first, windows.second], "the windows")
      yield* check(desktop[0]?.includes("the first window") === true, () => `the text is ${show(desktop[0])}`)
    })
  },
  desktopSize: {
    title: "the desktop of a size",
    run: Effect.fnUntraced(function* ({ agent, computerName }) {
      const desktop = yield* agent.desktop(computerName, { size: 1 })
      yield* checkEqual(firstLines(desktop), [windows.first], "the windows")
    })
  },
  desktopWindow: {
    title: "one window of the desktop",
    run: Effect.fnUntraced(function* ({ agent, computerName }) {
      const desktop = yield* agent.desktop(computerName, { window: windows.second })
      yield* checkEqual(firstLines(desktop), [windows.second], "the windows")
    })
  },
  config: {
    title: "the configuration, without secrets",
    run: Effect.fnUntraced(function* ({ agent, computerName, serverId }) {
      const { servers, text } = yield* agent.config(computerName)
      yield* checkEqual(Object.keys(servers), [serverId], "the servers")
      yield* checkEqual(asObject(servers[serverId])["type"], "stdio", "the type")
      yield* check(!text.includes(inputValues.secret), () => "the value of a secret is in the configuration")
      yield* check(text.includes("input:secret"), () => `no placeholder: ${text.slice(0, 300)}`)
      yield* check(text.includes("careful"), () => `no options of the input: ${text.slice(-300)}`)
    })
  },
  resources: {
    title: "resources of an MCP server, in pages",
    run: Effect.fnUntraced(function* (world) {
      const all = yield* allResources(world)
      const uris = all.map(({ uri }) => uri)
      for (const uri of [windows.first, notes.uri]) {
        yield* check(uris.includes(uri), () => `the resources are ${show(uris)}`)
      }
      yield* checkEqual(all.find(({ uri }) => uri === notes.uri)?.mimeType, notes.mimeType, "the MIME type")
    })
  },
  unknownServer: {
    title: "resources of an unknown MCP server",
    run: Effect.fnUntraced(function* ({ agent, computerName }) {
      const { code, message } = yield* rejected(agent.resources(computerName, "missing"), "an unknown server")
      yield* check(code === 4014 || code === 404, () => `the error has the code ${code}: ${message}`)
    })
  },
  skills: {
    title: "list of the skills, of the user and of an MCP server",
    run: Effect.fnUntraced(function* ({ agent, computerName, serverId }) {
      const skills = yield* agent.skills(computerName)
      const own = skills.find(({ name }) => name === userSkill.name)
      yield* checkEqual(own?.source, "user", "the source")
      yield* checkEqual(own?.description, userSkill.description, "the description")
      const name = `mcp:${serverId}:${mcpSkill.name}`
      yield* check(
        skills.some((skill) => skill.name === name),
        () => `no skill ${name}: ${show(skills)}`
      )
    })
  },
  skillFile: {
    title: "a file of a skill",
    run: Effect.fnUntraced(function* ({ agent, computerName, serverId }) {
      yield* checkEqual(yield* agent.skillFile(computerName, userSkill.name), userSkill.body, "the text")
      const name = `mcp:${serverId}:${mcpSkill.name}`
      yield* checkEqual(yield* agent.skillFile(computerName, name), mcpSkill.body, "the text of the MCP server")
    })
  },
  skillBlob: {
    title: "a file of a skill of 150 KB",
    run: Effect.fnUntraced(function* ({ agent, computerName }) {
      const text = yield* agent.skillFile(computerName, userSkill.name, userSkill.largePath)
      yield* check(text === userSkill.large, () => `other text, ${text.length} of ${userSkill.large.length}`)
    })
  },
  upload: {
    title: "an upload of 600 KB",
    isOffered: ({ line }) => line === "0.4",
    run: Effect.fnUntraced(function* ({ agent, computerName, landing }) {
      const data = sampleBytes(pictureSize)
      const { path, sha256: reported, size } = yield* agent.upload(computerName, data, "sample.bin")
      yield* checkEqual([size, reported], [data.length, sha256(data)], "size and hash")
      yield* check(path.startsWith(landing) && existsSync(path), () => `the file is at ${path}`)
      yield* check(readFileSync(path).equals(data), () => "the file has other bytes")
    })
  },
  functions: {
    title: "tools and a window of our Computer of functions",
    isOffered: ({ pairing }) => pairing.computer === "ours",
    run: (world) => useFunctions(world, "here")
  },
  functionsInPage: {
    title: "the same in a page of Chromium",
    isOffered: ({ pairing }) => pairing.computer === "ours" && locate(chromiumBrowser) !== undefined,
    run: (world) => useFunctions(world, "page"),
    timeout: 60
  },
  toolsChanged: {
    title: "a tool that is added at run time",
    run: Effect.fnUntraced(function* (world) {
      const since = world.agent.events.count()
      yield* callTool(world, "grow")
      yield* awaitEvent(world, since, "toolList", "tools")
      const listed = Effect.flatMap(listTools(world), (tools) => {
        const names = tools.map(({ name }) => name)
        return check(names.includes(world.toolName("grown")), () => `the tools are ${show(names)}`)
      })
      yield* eventually(listed)
      const result = yield* callTool(world, "grown", { text: "up" })
      yield* checkEqual(textOf(result), "grown: up", "the text")
    })
  },
  desktopChanged: {
    title: "a window that changes",
    run: Effect.fnUntraced(function* (world) {
      const since = world.agent.events.count()
      yield* callTool(world, "paint", { text: "painted by a tool" })
      yield* awaitEvent(world, since, "desktop")
      const shown = Effect.flatMap(world.agent.desktop(world.computerName), ([window = ""]) =>
        check(window.includes("painted by a tool"), () => `the window is ${show(window)}`)
      )
      yield* eventually(shown)
    })
  },
  skillsChanged: {
    title: "a skill that is added at run time",
    run: Effect.fnUntraced(function* (world) {
      const since = world.agent.events.count()
      writeSkill(world.skillFolder, "later-skill", "A skill that came later", "Later.\n")
      yield* awaitEvent(world, since, "skills")
      const listed = Effect.flatMap(world.agent.skills(world.computerName), (skills) =>
        check(
          skills.some(({ name }) => name === "later-skill"),
          () => `the skills are ${show(skills.map(({ name }) => name))}`
        )
      )
      yield* eventually(listed)
    })
  },
  secondAgent: {
    title: "a second Agent is rejected",
    run: Effect.fnUntraced(function* ({ makeAgent }) {
      const second = yield* makeAgent("second")
      const { message } = yield* rejected(second.join, "a second Agent")
      yield* check(/agent/i.test(message), () => `the reason is ${show(message)}`)
    })
  },
  sameName: {
    title: "a second Computer of the same name is rejected",
    run: Effect.fnUntraced(function* (world) {
      const second = yield* world.makeComputer(world.computerName)
      const { message } = yield* rejected(second.join(world.office), "a second Computer")
      yield* check(message.includes(world.computerName), () => `the reason is ${show(message)}`)
      yield* checkEcho(world)
    })
  },
  wrongToken: {
    title: "a wrong token is rejected",
    run: Effect.fnUntraced(function* ({ makeAgent }) {
      const second = yield* makeAgent("intruder", "wrong-token-0123456789abcdef-0123456789abcdef")
      yield* rejected(second.join, "a wrong token")
    })
  },
  otherLine: {
    title: "an Agent of another protocol line learns why it is rejected",
    run: Effect.fnUntraced(function* ({ joinOnOtherLine }) {
      const { message } = yield* rejected(joinOnOtherLine, "another line")
      yield* check(/version|protocol/i.test(message), () => `the reason is ${show(message)}`)
    })
  },
  leave: {
    title: "the Computer leaves and joins again",
    run: Effect.fnUntraced(function* (world) {
      const since = world.agent.events.count()
      yield* world.computer.leave
      yield* awaitEvent(world, since, "left")
      yield* eventually(checkComputers(world, []))
      yield* world.computer.join(world.office)
      yield* awaitEvent(world, since, "entered")
      yield* eventually(checkEcho(world))
    })
  },
  windowOpened: {
    title: "a window that opens at run time",
    run: Effect.fnUntraced(function* (world) {
      const since = world.agent.events.count()
      yield* callTool(world, "open_window")
      yield* awaitEvent(world, since, "desktop")
      const shown = Effect.flatMap(world.agent.desktop(world.computerName), (desktop) =>
        check(firstLines(desktop).includes(windows.third), () => `the windows are ${show(firstLines(desktop))}`)
      )
      yield* eventually(shown)
    })
  },
  computerLost: {
    title: "a lost Computer ends its calls and leaves",
    run: Effect.fnUntraced(function* (world) {
      const since = world.agent.events.count()
      const calls = world.journalCount("call slow")
      const call = yield* Effect.forkChild(Effect.exit(callTool(world, "slow", { seconds: 60 }, 60)))
      yield* world.awaitJournal("call slow", calls + 1)
      yield* world.proxies.computer.cut
      yield* awaitEvent(world, since, "left")
      yield* Fiber.join(call)
      yield* eventually(checkComputers(world, []))
    })
  },
  computerRejoins: {
    title: "a lost Computer rejoins",
    timeout: 12,
    run: Effect.fnUntraced(function* (world) {
      yield* world.proxies.computer.heal
      yield* eventually(checkComputers(world, [world.computerName]))
      yield* eventually(checkEcho(world))
    })
  },
  agentLost: {
    title: "another Agent takes the place of a lost one",
    run: Effect.fnUntraced(function* ({ makeAgent, proxies }) {
      yield* proxies.agent.cut
      yield* eventually(Effect.scoped(Effect.flatMap(makeAgent("successor"), ({ join }) => join)))
    })
  },
  agentRejoins: {
    title: "a lost Agent rejoins",
    run: Effect.fnUntraced(function* ({ agent, makeComputer, office, proxies }) {
      yield* proxies.agent.heal
      // The first Computer may be lost. A Server may also let a connection list an office that it is not in.
      const witness = yield* makeComputer("witness")
      yield* witness.join(office)
      const listed = Effect.flatMap(agent.computers, (names) =>
        check(names.includes("witness"), () => `the Computers are ${show(names)}`)
      )
      yield* eventually(listed)
    })
  }
} satisfies { readonly [name: string]: Step }

export type StepName = keyof typeof stepTable

export const steps: ReadonlyArray<readonly [name: StepName, step: Step]> = Object.entries(stepTable) as ReadonlyArray<
  readonly [StepName, Step]
>

/** Steps without which later ones cannot run. */
export const prerequisites: ReadonlySet<StepName> = new Set<StepName>(["join"])
