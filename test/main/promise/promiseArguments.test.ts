import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Server as SocketIo } from "socket.io"
import { A2cError, connectAgent, runComputer, runServer } from "../../../src/main/entrypoints/promise.ts"
import { connectAgent as connectWebAgent } from "../../../src/main/entrypoints/agent.ts"
import { inOffice } from "./promiseOffice.ts"

/** Calls a function as plain JavaScript does, without types. */
const callWith = async (fn: unknown, args: ReadonlyArray<unknown>): Promise<unknown> => {
  try {
    await (fn as (...given: ReadonlyArray<unknown>) => Promise<unknown>)(...args)
    return "no error"
  } catch (error) {
    return error instanceof A2cError ? `${error.code}: ${error.message}` : error
  }
}

const cycle: { self?: unknown } = {}
cycle.self = cycle

const path =
  "a path like /smcp, in the form of URLs, without * and a slash at its end, and not that of a page: " +
  "/healthz, /readyz, /metrics, /status, /office"
const origin = "an origin like https://example.org, without a path, *. or another pattern, or * for any"
const url = "a URL with the scheme http, https, ws or wss"
const name = "a string of 1 to 256 characters"
const headers = "an object of strings, with names and values that HTTP permits"
const transports = "an array of polling or websocket that is not empty"

const server = { authenticate: "allowAll" }
const desk = { url: "http://127.0.0.1:9", name: "desk", config: {} }
const place = { url: "http://127.0.0.1:9", office: "team", name: "x" }

/** A function, its required options, and rows: wrong options beside them, and the message after the name of the function. */
type Wrong = readonly [given: object, message: string]
const functions: ReadonlyArray<readonly [string, fn: unknown, required: object, rows: ReadonlyArray<Wrong>]> = [
  [
    "runServer",
    runServer,
    server,
    [
      [{ authenticate: true }, `'authenticate' must be a function or "allowAll", but it is of type boolean`],
      [{ port: "80" }, "'port' must be an integer from 0 to 65535, but it is of type string"],
      [{ port: 70_000 }, "'port' must be an integer from 0 to 65535, but it is 70000"],
      [{ pingInterval: Infinity }, "'pingInterval' must be an integer from 1 to 2147483647, but it is Infinity"],
      [{ limits: null }, "'limits' must be an object, but it is null"],
      [{ limits: { conections: 1 } }, "there is no option 'limits.conections': did you mean 'connections'?"],
      [
        { limits: { connections: 0 } },
        "'limits.connections' must be a number above 0, such as Infinity for no limit, but it is 0"
      ],
      [
        { settings: { drainTimeout: "1 s" } },
        "'settings.drainTimeout' must be a number from 0, but it is of type string"
      ],
      [{ redis: "redis://x" }, "'redis' must be an object, but it is of type string"],
      [{ tls: { cert: 5, key: "k" } }, "'tls.cert' must be a string, but it is 5"],
      [{ tls: { cert: "c" } }, "'tls.key' must be a string, but it is missing"],
      [{ engine: "ws" }, "'engine' must be relay or socket.io, but it is of type string"],
      ...["smcp", "/", "/smcp/", "/a*", "/a b", "/healthz", "/status", "/office", "/office/x"].map(
        (one): Wrong => [
          { paths: ["/smcp", one] },
          `'paths' must be an array that is not empty, each item ${path}, but it is of type array`
        ]
      ),
      ...[
        "app.example",
        "https://*.app.example",
        "HTTPS://app.example",
        "https://app.example/",
        "wss://app.example"
      ].map(
        (one): Wrong => [
          { allowedOrigins: ["*", one] },
          `'allowedOrigins' must be an array, each item ${origin}, but it is of type array`
        ]
      ),
      [{ page: { apps: null } }, "'page.apps' must be an object, but it is null"],
      [{ httpServer: {} }, "'httpServer' must be an HTTP server of Node, but it is of type object"],
      [{ io: createServer() }, "'io' must be a Socket.IO server, but it is of type Server"],
      [{ io: new SocketIo(), httpServer: createServer() }, "'httpServer' and 'io' exclude each other"]
    ]
  ],
  [
    "runComputer",
    runComputer,
    desk,
    [
      [{ url: 80 }, `'url' must be ${url}, but it is 80`],
      [{ confrim: () => true }, "there is no option 'confrim': did you mean 'confirm'?"],
      [{ confirm: "yes" }, "'confirm' must be a function, but it is of type string"],
      [{ approve: "memory/*" }, "'approve' must be an array of strings, but it is of type string"],
      [{ protocol: "0.9" }, "'protocol' must be 0.2 or 0.3 or 0.4 or auto, but it is of type string"],
      [{ policy: 1 }, "'policy' must be a function or an object of rules, but it is 1"],
      [{ name: "x".repeat(257) }, `'name' must be ${name}, but it is of type string`],
      [{ settings: { idle: NaN } }, "'settings.idle' must be a number from 0, but it is NaN"],
      [{ variables: { memory: { root: 5 } } }, "'variables.memory.root' must be a string, but it is 5"],
      [{ approvers: ["owner"] }, "'approvers' must be an array of page or agent, but it is of type array"],
      [
        { uploads: { folder: new URL("file:///tmp") } },
        "'uploads.folder' must be a string that is not empty, but it is of type URL"
      ]
    ]
  ],
  [
    "connectAgent",
    connectAgent,
    place,
    [
      [{ office: undefined }, `'office' must be ${name}, but it is missing`],
      [{ token: 5 }, "'token' must be a string or a function, but it is 5"],
      [{ wait: null }, "'wait' must be a number from 0, but it is null"],
      [{ url: new URL(place.url) }, `'url' must be ${url}, but it is of type URL`],
      [{ url: "127.0.0.1:7070" }, `'url' must be ${url}, but it is of type string`],
      [{ headers: new Headers({ "x-key": "y" }) }, `'headers' must be ${headers}, but it is of type Headers`],
      [{ headers: { "x-key": "a\nb" } }, `'headers' must be ${headers}, but it is of type object`],
      [{ auth: { cycle } }, "'auth.cycle' must be a JSON value, but it is of type object"],
      [{ transports: "websocket" }, `'transports' must be ${transports}, but it is of type string`],
      [{ transports: [] }, `'transports' must be ${transports}, but it is an empty array`],
      [{ namespace: "smcp" }, "'namespace' must be a string that begins with a slash, but it is of type string"]
    ]
  ]
]

describe.each(functions)("%s in plain JavaScript", (called, fn, required, rows) => {
  for (const [given, message] of rows) {
    it(`reports ${message}`, async () => {
      assert.strictEqual(await callWith(fn, [{ ...required, ...given }]), `config_invalid: ${called}: ${message}`)
    })
  }
})

describe("a function of the Promise API in plain JavaScript", () => {
  const throwing = {
    get servers(): unknown {
      throw new Error("closed")
    }
  }
  const locked = {
    ...place,
    get token(): string {
      throw new Error("locked")
    }
  }
  for (const [fn, args, message] of [
    [runServer, [null], "runServer: argument 1 must be an object, but it is null"],
    [runServer, ["allowAll"], "runServer: argument 1 must be an object, but it is of type string"],
    [runServer, [{}], `runServer: 'authenticate' must be a function or "allowAll", but it is missing`],
    [runServer, [server, null], "the last argument must be an object, but it is null"],
    [runServer, [server, { signal: 5 }], "'signal' must be an AbortSignal, but it is 5"],
    [runComputer, [{ ...place, config: null }], "runComputer: 'config' must be an object, but it is null"],
    [
      runComputer,
      [{ ...place, policy: { rules: [{ action: "alow" }] } }],
      'The policy cannot be used: rules[0].action: Expected "allow" | "ask" | "deny"'
    ],
    [
      runComputer,
      [{ ...place, tools: [{ name: "a b", run: () => "" }] }],
      "tool 'a b' cannot be offered: a name has 1 to 128 letters, digits, '_', '-' and '.'"
    ],
    [
      runComputer,
      [{ ...desk, tools: {} }],
      "runComputer: 'tools' must be an array of objects, but it is of type object"
    ],
    [runComputer, [{ ...desk, config: throwing }], "The configuration cannot be used: closed"],
    [connectAgent, [[]], "connectAgent: argument 1 must be an object, but it is an empty array"],
    [connectAgent, [locked], "connectAgent: 'token' cannot be read: locked"],
    [connectWebAgent, [], "connectAgent: argument 1 must be an object, but it is missing"],
    [connectWebAgent, [{ ...place, name: 7 }], `connectAgent: 'name' must be ${name}, but it is 7`]
  ] as const) {
    it(`reports ${message}`, async () => {
      assert.strictEqual(await callWith(fn, args), `config_invalid: ${message}`)
    })
  }
})

const count = "must be an integer from 0 to 9007199254740991"
const limit = "must be a number above 0, such as Infinity for no limit"
const seconds = "'timeout' must be a number above 0"

/** A method, its arguments, and the message for them. */
type Calls = ReadonlyArray<readonly [method: string, args: ReadonlyArray<unknown>, message: string]>

const agentCalls: Calls = [
  ["callTool", [], "callTool: argument 1 must be an object, but it is missing"],
  ["callTool", [{}], "callTool: 'tool' must be a string, but it is missing"],
  ["callTool", ["echo"], "callTool: argument 1 must be an object, but it is of type string"],
  ["callTool", [{ tool: "x", args: {} }], "callTool: there is no option 'args'"],
  ["callTool", [{ tool: "x", params: [] }], "callTool: 'params' must be an object, but it is an empty array"],
  ["callTool", [{ tool: "x", timeout: "5" }], `callTool: ${seconds}, but it is of type string`],
  ["callTool", [{ tool: "x" }, null], "the last argument must be an object, but it is null"],
  ["members", [{ signal: true }], "'signal' must be an AbortSignal, but it is of type boolean"],
  ["startTool", [{}], "startTool: 'tool' must be a string, but it is missing"],
  ["getTools", [], "getTools: argument 1 must be a string, but it is missing"],
  ["getDesktop", ["desk", null], "the last argument must be an object, but it is null"],
  ["getDesktop", ["desk", { size: 1.5 }], `getDesktop: 'size' ${count}, but it is 1.5`],
  ["getDesktop", ["desk", { window: 5 }], "getDesktop: 'window' must be a string, but it is 5"],
  ["getDpe", ["desk"], "getDpe: argument 2 must be a string, but it is missing"],
  ["getDpe", ["desk", "dpe://a/b", { timeout: "5" }], `getDpe: ${seconds}, but it is of type string`],
  ["fetchDocument", ["desk", "dpe://a/b", { maxBytes: 0 }], `fetchDocument: 'maxBytes' ${limit}, but it is 0`],
  ["getResources", ["desk", "s", { cursor: null }], "getResources: 'cursor' must be a string, but it is null"],
  [
    "findDocuments",
    ["desk", { keyword: ["a"] }],
    "findDocuments: there is no option 'keyword': did you mean 'keywords'?"
  ],
  [
    "findDocuments",
    ["desk", { keywords: "a" }],
    "findDocuments: 'keywords' must be an array of strings, but it is of type string"
  ],
  ["findDocuments", ["desk", { offset: -1 }], `findDocuments: 'offset' ${count}, but it is -1`],
  [
    "findDocuments",
    ["desk", { limit: 0 }],
    "findDocuments: 'limit' must be an integer from 1 to 9007199254740991, but it is 0"
  ],
  ["getApprovals", ["desk", { id: "a" }], "getApprovals: there is no option 'id'"],
  ["decideApproval", ["desk", "a1"], "decideApproval: argument 3 must be an object, but it is missing"],
  ["mcpRequest", ["desk"], "mcpRequest: argument 2 must be an object, but it is missing"],
  ["blob", ["desk", "h", { timeout: 0 }], `blob: ${seconds}, but it is 0`],
  ["putBlob", ["desk", "text"], "putBlob: argument 2 must be a Uint8Array, but it is of type string"],
  ["putBlob", ["desk", new Uint8Array(1), { nameHint: 1 }], "putBlob: 'nameHint' must be a string, but it is 1"],
  ["readSkill", ["desk", "s", { path: "a" }], "readSkill: there is no option 'path'"],
  ["readSkill", ["desk", "s", { maxBytes: "1" }], `readSkill: 'maxBytes' ${limit}, but it is of type string`],
  ["mcpClient", [{ tools: "none" }], "mcpClient: 'tools' must be all or search or auto, but it is of type string"],
  ["mcpClient", [{ pinned: "a" }], "mcpClient: 'pinned' must be an array of strings, but it is of type string"]
]

const computerCalls: Calls = [
  ["callTool", [], "callTool: argument 1 must be an object, but it is missing"],
  ["reconfigure", [], "reconfigure: argument 1 must be an object, but it is missing"],
  ["explain", [{ subject: "ada" }], "explain: 'tool' must be a string, but it is missing"],
  ["join", [], "join: argument 1 must be an object, but it is missing"],
  ["join", [{ ofice: "x" }], "join: there is no option 'ofice': did you mean 'office'?"],
  ["join", [{ office: "x", wait: "5" }], "join: 'wait' must be a number from 0, but it is of type string"],
  ["desktop", [{ size: "x" }], `desktop: 'size' ${count}, but it is of type string`],
  ["desktop", [{ windows: "w" }], "desktop: there is no option 'windows': did you mean 'window'?"]
]

describe("methods of the Promise API in plain JavaScript", () => {
  const check = async (service: object, calls: Calls) => {
    for (const [method, args, message] of calls)
      assert.strictEqual(await callWith(Reflect.get(service, method), args), `config_invalid: ${message}`)
  }

  it("names missing and wrong arguments and options", () =>
    inOffice(async (office) => {
      const computer = await office.computer()
      const agent = await office.agent()
      await check(agent, agentCalls)
      await check(computer, computerCalls)
      assert.throws(() => Reflect.apply(agent.changesOf, agent, []), "changesOf: argument 1 must be a string")
      const { signal } = new AbortController()
      assert.strictEqual(await callWith(computer.desktop, [{ size: 0, window: undefined, signal }]), "no error")
      assert.strictEqual(await callWith(agent.getTools, ["desk", { signal, sessionId: "of a host" }]), "no error")
    }))
})
