import { assert, describe, it } from "@effect/vitest"
import {
  A2cError,
  type ComputerOptions,
  type ConnectedAgent,
  connectAgent,
  type ConnectionOptions,
  type NodeAgentConnectOptions,
  runComputer,
  type RunningComputer,
  runServer,
  type ServerOptions
} from "../../../src/main/entrypoints/promise.ts"
import { Limits } from "../../../src/application/server/connections/Limits.ts"
import { inOffice } from "./promiseOffice.ts"

/** The expected kind of each option, or those of its own options; an option without a row is an error of the compiler. */
type Kinds<Options> = {
  readonly [Option in keyof Options]-?: string | { readonly [option: string]: string }
}

const connection: Kinds<ConnectionOptions> = {
  auth: "an object",
  ca: "a string",
  connectTimeout: "a number",
  headers: "an object",
  log: "a function",
  namespace: "a string",
  token: "a string or a function",
  transports: "an array of polling or websocket",
  url: "a string",
  wait: "a number"
}
const agentKinds: Kinds<NodeAgentConnectOptions> = {
  ...connection,
  documentFolders: "an array of strings",
  documentHosts: "an array of strings",
  name: "a string",
  office: "a string",
  protocol: "0.2 or 0.3 or 0.4 or auto",
  retryInitialConnect: "a boolean",
  takeOver: "a boolean"
}
const computerKinds: Kinds<ComputerOptions> = {
  ...connection,
  approve: "an array of strings",
  approvers: "an array of strings",
  authorize: "a function",
  catalogues: "a string",
  config: "an object",
  confirm: "a function",
  inputs: { ask: "a function", run: "a function", values: "an object" },
  name: "a string",
  office: "a string",
  onInput: "a function",
  operators: { calls: "a boolean", states: "a boolean", stderr: "a boolean" },
  policy: "a function",
  protocol: "0.2 or 0.3 or 0.4 or auto",
  retryInitialConnect: "a boolean",
  settings: {
    approvalTimeout: "a number",
    changeThrottle: "a number",
    connectTimeout: "a number",
    idle: "a number",
    keepaliveInterval: "a number",
    lifecycle: "a string",
    onProgress: "a function",
    readTimeout: "a number",
    resolveDpe: "a function",
    showUnsubscribable: "a boolean",
    startupTimeout: "a number"
  },
  skills: { marketplaces: "an array of strings", userFolder: "a string" },
  takeOver: "a boolean",
  uploads: "an object",
  variables: "an object"
}
const limits = Object.fromEntries(Object.keys(Limits.defaultValue()).map((limit) => [limit, "a number"]))
const serverKinds: Kinds<ServerOptions> = {
  allowedOrigins: "an array of strings",
  authenticate: 'a function or "allowAll"',
  engine: "a string",
  fallback: "a function",
  host: "a string",
  httpServer: "an object",
  io: "an object",
  limits,
  lines: "an array of 0.2 or 0.3 or 0.4",
  log: "a function",
  maxMessageBytes: "a number",
  namespace: "a string",
  page: "an object or false",
  paths: "an array of strings",
  pingInterval: "a number",
  pingTimeout: "a number",
  port: "a number",
  redis: { address: "an object", prefix: "a string", url: "a string" },
  settings: {
    drainTimeout: "a number",
    requireRole: "a boolean",
    routingTimeout: "a number",
    timeoutGrace: "a number"
  },
  tls: "an object",
  validate: "a boolean",
  validateBytes: "a number"
}

/** The message of a rejection with `config_invalid`. */
const problemOf = async (called: () => unknown): Promise<string> => {
  try {
    await called()
  } catch (error) {
    if (error instanceof A2cError && error.code === "config_invalid") return error.message
    return String(error)
  }
  return "no rejection"
}

const address = { url: "http://127.0.0.1:1", name: "desk" }
type Start = (options: never) => Promise<unknown>
const starts: ReadonlyArray<readonly [name: string, start: Start, required: object, kinds: object]> = [
  ["connectAgent", connectAgent, { ...address, office: "team" }, agentKinds],
  ["runComputer", runComputer, { ...address, config: { servers: {} } }, computerKinds],
  ["runServer", runServer, { authenticate: "allowAll" }, serverKinds]
]

describe.each(starts)("%s", (name, start, required, kinds) => {
  const withOption = (path: ReadonlyArray<string>, value: unknown) => {
    const [option = "", inner] = path
    return start({ ...required, [option]: inner === undefined ? value : { [inner]: value } } as never)
  }
  const rows = Object.entries(kinds).flatMap(
    ([option, kind]: readonly [string, string | object]): ReadonlyArray<readonly [ReadonlyArray<string>, string]> =>
      typeof kind === "string"
        ? [[[option], kind]]
        : [
            [[option], "an object"],
            ...Object.entries(kind).map(([inner, one]) => [[option, inner], String(one)] as const)
          ]
  )

  it("names each wrong option, its kind and what it is", async () => {
    for (const [path, kind] of rows)
      for (const [value, described] of [
        [null, "null"],
        [Symbol("wrong"), "of type symbol"],
        [[1], "of type array"],
        [Number.NaN, "NaN"]
      ] as const)
        assert.strictEqual(
          await problemOf(() => withOption(path, value)),
          `${name}: '${path.join(".")}' must be ${kind}, but it is ${described}`
        )
  })

  it("rejects a text that is none of the choices", async () => {
    for (const [path, kind] of rows)
      if (kind.includes(" or ") && kind !== "a string or a function")
        assert.include(await problemOf(() => withOption(path, "nonsense")), `must be ${kind}, but it is of type string`)
  })

  it("names an unknown option, and the option that is meant", async () => {
    for (const [path] of rows) {
      const wrong = [...path.slice(0, -1), `${path.at(-1)}X`]
      assert.strictEqual(
        await problemOf(() => withOption(wrong, 1)),
        `${name}: there is no option '${wrong.join(".")}': did you mean '${path.at(-1)}'?`
      )
    }
    for (const inherited of ["toString", "constructor"])
      assert.include(await problemOf(() => withOption([inherited], 1)), `there is no option '${inherited}'`)
  })

  it("names each option that is required", async () => {
    for (const option of Object.keys(required))
      assert.match(
        await problemOf(() => start({ ...required, [option]: undefined } as never)),
        new RegExp(`^${name}: '${option}' must be .*, but it is missing$`)
      )
    assert.strictEqual(
      await problemOf(() => start(undefined as never)),
      `${name}: argument 1 must be an object, but it is missing`
    )
  })
})

type Required<Service> = { readonly [Method in keyof Service]?: ReadonlyArray<unknown> }

const agentArguments: Required<ConnectedAgent> = {
  callTool: [{ tool: "echo" }],
  startTool: [{ tool: "echo" }],
  getTools: ["desk"],
  mcpServers: ["desk"],
  mcpRequest: ["desk", { server: "alpha", method: "prompts/get" }],
  getConfig: ["desk"],
  getDesktop: ["desk"],
  getDpe: ["desk", "dpe://com.example/one"],
  fetchDocument: ["desk", "dpe://com.example/one"],
  getResources: ["desk", "alpha"],
  allResources: ["desk", "alpha"],
  findDocuments: ["desk"],
  getApprovals: ["desk"],
  decideApproval: ["desk", "a", { action: "deny" }],
  blob: ["desk", "h"],
  putBlob: ["desk", new Uint8Array([1])],
  skills: ["desk"],
  readSkill: ["desk", "greet"],
  changesOf: ["desk"]
}

const computerArguments: Required<RunningComputer> = {
  reconfigure: [{ config: {} }],
  start: ["alpha"],
  stop: ["alpha"],
  restart: ["alpha"],
  callTool: [{ tool: "echo" }],
  decideApproval: ["a", { action: "deny" }],
  revokeGrant: ["g"],
  explain: [{ tool: "echo" }],
  join: [{ office: "team" }]
}

const isMembers = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(value instanceof Uint8Array)

/** Each missing argument, and each missing member of one, gives a message with the method and its name. */
const checkMethods = async (service: object, rows: object) => {
  for (const [name, args] of Object.entries(rows) as ReadonlyArray<readonly [string, ReadonlyArray<unknown>]>)
    for (const [index, value] of args.entries()) {
      const call = (wrong: unknown) =>
        problemOf(() => Reflect.apply(Reflect.get(service, name) as () => unknown, service, args.with(index, wrong)))
      const start = `${name}: argument ${index + 1} must be `
      assert.match(await call(undefined), new RegExp(`^${start}.*, but it is missing$`))
      assert.match(await call(7), new RegExp(`^${start}.*, but it is of type number$`))
      if (!isMembers(value)) continue
      for (const member of Object.keys(value))
        assert.match(
          await call({ ...value, [member]: undefined }),
          new RegExp(`^${name}: '${member}' must be .*, but it is missing$`)
        )
    }
}

describe("a method without a required argument", () => {
  it("is rejected by an Agent", () =>
    inOffice(async (office) => {
      const agent = await office.agent()
      await checkMethods(agent, agentArguments)
      assert.throws(() => agent.changesOf(undefined as never), A2cError)
    }))
  it("is rejected by a Computer", () =>
    inOffice(async (office) => checkMethods(await office.computer(), computerArguments)))
})
