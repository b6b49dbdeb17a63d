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
import { Limits } from "../../../src/application/server/Limits.ts"
import { inOffice } from "./promiseOffice.ts"

/** Each option, or its own options; an option without a row is an error of the compiler. */
type Rows<Options> = {
  readonly [Option in keyof Options]-?: true | { readonly [option: string]: true }
}

const connection: Rows<ConnectionOptions> = {
  auth: true,
  ca: true,
  connectTimeout: true,
  headers: true,
  log: true,
  namespace: true,
  token: true,
  transports: true,
  url: true,
  wait: true
}
const agentOptions: Rows<NodeAgentConnectOptions> = {
  ...connection,
  documentFolders: true,
  documentHosts: true,
  name: true,
  office: true,
  protocol: true,
  retryInitialConnect: true,
  takeOver: true
}
const computerOptions: Rows<ComputerOptions> = {
  ...connection,
  approve: true,
  approvers: true,
  authorize: true,
  catalogues: true,
  clientMetadataUrl: true,
  config: true,
  confirm: true,
  documents: true,
  inputs: { ask: true, run: true, values: true },
  mcpRevision: true,
  name: true,
  office: true,
  onInput: true,
  operators: { calls: true, states: true, stderr: true },
  policy: true,
  protocol: true,
  retryInitialConnect: true,
  settings: {
    approvalTimeout: true,
    changeThrottle: true,
    connectTimeout: true,
    idle: true,
    keepaliveInterval: true,
    lifecycle: true,
    onProgress: true,
    readTimeout: true,
    resolveDpe: true,
    showUnsubscribable: true,
    startupTimeout: true
  },
  skills: { marketplaces: true, userFolder: true },
  takeOver: true,
  tools: true,
  uploads: true,
  variables: true,
  windows: true
}
const limits = Object.fromEntries(Object.keys(Limits.defaultValue()).map((limit) => [limit, true as const]))
const serverOptions: Rows<ServerOptions> = {
  allowedOrigins: true,
  authenticate: true,
  engine: true,
  fallback: true,
  host: true,
  httpServer: true,
  io: true,
  limits,
  lines: true,
  log: true,
  maxMessageBytes: true,
  namespace: true,
  page: true,
  paths: true,
  pingInterval: true,
  pingTimeout: true,
  port: true,
  redis: { address: true, prefix: true, url: true },
  settings: {
    drainTimeout: true,
    requireRole: true,
    routingTimeout: true,
    timeoutGrace: true
  },
  tls: true,
  validate: true,
  validateBytes: true
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
const starts: ReadonlyArray<readonly [name: string, start: Start, required: object, options: object]> = [
  ["connectAgent", connectAgent, { ...address, office: "team" }, agentOptions],
  ["runComputer", runComputer, address, computerOptions],
  ["runServer", runServer, { authenticate: "allowAll" }, serverOptions]
]

describe.each(starts)("%s", (name, start, required, options) => {
  const withOption = (path: ReadonlyArray<string>, value: unknown) => {
    const [option = "", inner] = path
    return start({ ...required, [option]: inner === undefined ? value : { [inner]: value } } as never)
  }
  const paths = Object.entries(options).flatMap(([option, own]: readonly [string, object | true]) =>
    own === true ? [[option]] : [[option], ...Object.keys(own).map((inner) => [option, inner])]
  )

  it("names each wrong option, and what it is", async () => {
    for (const path of paths)
      for (const [value, described] of [
        [null, "null"],
        [Symbol("wrong"), "of type symbol"],
        [[Symbol("in a list")], "of type array"],
        [Number.NaN, "NaN"]
      ] as const)
        assert.match(
          await problemOf(() => withOption(path, value)),
          new RegExp(`^${name}: '${path.join("[.]")}(?:[.]\\w+)?' must be .*, but it is ${described}$`)
        )
  })

  it("names an unknown option, and the option that is meant", async () => {
    for (const path of paths) {
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
      assert.match(await call(7), new RegExp(`^${start}.*, but it is 7$`))
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
