import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Server as SocketIo } from "socket.io"
import { A2cError, connectAgent, runComputer, runServer } from "../../../src/main/entrypoints/promise.ts"
import { connectAgent as connectWebAgent } from "../../../src/main/entrypoints/agent.ts"

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

type Row = readonly [fn: unknown, args: ReadonlyArray<unknown>, message: string]

const expectedPath =
  "a path like /smcp, in the form of URLs, without * and a slash at its end, and not that of a page: " +
  "/healthz, /readyz, /metrics, /status, /office"

const expectedOrigin = "an origin like https://example.org, without a path, *. or another pattern, or * for any"

const server = { authenticate: "allowAll" }
const desk = { url: "http://127.0.0.1:9", name: "desk", config: {} }
const place = { url: "http://127.0.0.1:9", office: "team", name: "x" }

describe("a function of the Promise API in plain JavaScript", () => {
  const rows: ReadonlyArray<Row> = [
    [runServer, [], "runServer: argument 1 must be an object, but it is missing"],
    [runServer, [null], "runServer: argument 1 must be an object, but it is null"],
    [runServer, ["allowAll"], "runServer: argument 1 must be an object, but it is of type string"],
    [runServer, [{}], `runServer: 'authenticate' must be a function or "allowAll", but it is missing`],
    [
      runServer,
      [{ authenticate: true }],
      `runServer: 'authenticate' must be a function or "allowAll", but it is of type boolean`
    ],
    [runComputer, [], "runComputer: argument 1 must be an object, but it is missing"],
    [
      runComputer,
      [{ ...place, url: 80, config: {} }],
      "runComputer: 'url' must be a URL with the scheme http, https, ws or wss, but it is 80"
    ],
    [runComputer, [place], "runComputer: 'config' must be an object, but it is missing"],
    [connectAgent, [], "connectAgent: argument 1 must be an object, but it is missing"],
    [connectAgent, [[]], "connectAgent: argument 1 must be an object, but it is an empty array"],
    [
      connectAgent,
      [{ ...place, office: undefined }],
      "connectAgent: 'office' must be a string of 1 to 256 characters, but it is missing"
    ],
    [
      runServer,
      [{ ...server, port: "80" }],
      "runServer: 'port' must be an integer from 0 to 65535, but it is of type string"
    ],
    [runServer, [{ ...server, limits: null }], "runServer: 'limits' must be an object, but it is null"],
    [
      runServer,
      [{ ...server, limits: { conections: 1 } }],
      "runServer: there is no option 'limits.conections': did you mean 'connections'?"
    ],
    [
      runServer,
      [{ ...server, settings: { drainTimeout: "1 s" } }],
      "runServer: 'settings.drainTimeout' must be a number from 0, but it is of type string"
    ],
    [runServer, [{ ...server, redis: "redis://x" }], "runServer: 'redis' must be an object, but it is of type string"],
    [
      runComputer,
      [{ ...desk, confrim: () => true }],
      "runComputer: there is no option 'confrim': did you mean 'confirm'?"
    ],
    [runComputer, [{ ...desk, confirm: "yes" }], "runComputer: 'confirm' must be a function, but it is of type string"],
    [
      runComputer,
      [{ ...desk, approve: "memory/*" }],
      "runComputer: 'approve' must be an array of strings, but it is of type string"
    ],
    [
      runComputer,
      [{ ...desk, protocol: "0.9" }],
      "runComputer: 'protocol' must be 0.2 or 0.3 or 0.4 or auto, but it is of type string"
    ],
    [runComputer, [{ ...desk, policy: {} }], "runComputer: 'policy' must be a function, but it is of type object"],
    [connectAgent, [{ ...place, token: 5 }], "connectAgent: 'token' must be a string or a function, but it is 5"],
    [connectAgent, [{ ...place, wait: null }], "connectAgent: 'wait' must be a number from 0, but it is null"],
    [
      connectAgent,
      [{ ...place, transports: "websocket" }],
      "connectAgent: 'transports' must be an array of polling or websocket that is not empty, but it is of type string"
    ],
    [runServer, [{ ...server, tls: { cert: 5, key: "k" } }], "runServer: 'tls.cert' must be a string, but it is 5"],
    [runServer, [{ ...server, tls: { cert: "c" } }], "runServer: 'tls.key' must be a string, but it is missing"],
    [runServer, [{ ...server, port: 70_000 }], "runServer: 'port' must be an integer from 0 to 65535, but it is 70000"],
    [
      runServer,
      [{ ...server, pingInterval: Number.POSITIVE_INFINITY }],
      "runServer: 'pingInterval' must be an integer from 1 to 2147483647, but it is Infinity"
    ],
    [
      runServer,
      [{ ...server, limits: { connections: 0 } }],
      "runServer: 'limits.connections' must be a number above 0, such as Infinity for no limit, but it is 0"
    ],
    [
      runServer,
      [{ ...server, engine: "ws" }],
      "runServer: 'engine' must be relay or socket.io, but it is of type string"
    ],
    ...["smcp", "/", "/smcp/", "/a*", "/a b", "/healthz", "/status", "/office", "/office/x"].map(
      (path): Row => [
        runServer,
        [{ ...server, paths: ["/smcp", path] }],
        `runServer: 'paths' must be an array that is not empty, each item ${expectedPath}, but it is of type array`
      ]
    ),
    ...["app.example", "https://*.app.example", "HTTPS://app.example", "https://app.example/", "wss://app.example"].map(
      (origin): Row => [
        runServer,
        [{ ...server, allowedOrigins: ["*", origin] }],
        `runServer: 'allowedOrigins' must be an array, each item ${expectedOrigin}, but it is of type array`
      ]
    ),
    [runServer, [{ ...server, page: { apps: null } }], "runServer: 'page.apps' must be an object, but it is null"],
    [
      runServer,
      [{ ...server, httpServer: {} }],
      "runServer: 'httpServer' must be an HTTP server of Node, but it is of type object"
    ],
    [
      runServer,
      [{ ...server, io: createServer() }],
      "runServer: 'io' must be a Socket.IO server, but it is of type Server"
    ],
    [
      runServer,
      [{ ...server, io: new SocketIo(), httpServer: createServer() }],
      "runServer: 'httpServer' and 'io' exclude each other"
    ],
    [runServer, [server, null], "the last argument must be an object, but it is null"],
    [runServer, [server, { signal: 5 }], "'signal' must be an AbortSignal, but it is 5"],
    [
      runComputer,
      [{ ...desk, name: "x".repeat(257) }],
      "runComputer: 'name' must be a string of 1 to 256 characters, but it is of type string"
    ],
    [
      runComputer,
      [{ ...desk, settings: { idle: Number.NaN } }],
      "runComputer: 'settings.idle' must be a number from 0, but it is NaN"
    ],
    [
      runComputer,
      [{ ...desk, variables: { memory: { root: 5 } } }],
      "runComputer: 'variables.memory.root' must be a string, but it is 5"
    ],
    [
      runComputer,
      [{ ...desk, approvers: ["owner"] }],
      "runComputer: 'approvers' must be an array of page or agent, but it is of type array"
    ],
    [
      runComputer,
      [{ ...desk, uploads: { folder: new URL("file:///tmp") } }],
      "runComputer: 'uploads.folder' must be a string that is not empty, but it is of type URL"
    ],
    [
      runComputer,
      [
        {
          ...desk,
          config: {
            get servers(): unknown {
              throw new Error("closed")
            }
          }
        }
      ],
      "The configuration cannot be used: closed"
    ],
    [
      connectAgent,
      [{ ...place, url: new URL(place.url) }],
      "connectAgent: 'url' must be a URL with the scheme http, https, ws or wss, but it is of type URL"
    ],
    [
      connectAgent,
      [{ ...place, url: "127.0.0.1:7070" }],
      "connectAgent: 'url' must be a URL with the scheme http, https, ws or wss, but it is of type string"
    ],
    [
      connectAgent,
      [
        {
          ...place,
          get token(): string {
            throw new Error("locked")
          }
        }
      ],
      "connectAgent: 'token' cannot be read: locked"
    ],
    [
      connectAgent,
      [{ ...place, headers: new Headers({ "x-key": "y" }) }],
      "connectAgent: 'headers' must be an object of strings, with names and values that HTTP permits, but it is of type Headers"
    ],
    [
      connectAgent,
      [{ ...place, headers: { "x-key": "a\nb" } }],
      "connectAgent: 'headers' must be an object of strings, with names and values that HTTP permits, but it is of type object"
    ],
    [
      connectAgent,
      [{ ...place, auth: { cycle } }],
      "connectAgent: 'auth.cycle' must be a JSON value, but it is of type object"
    ],
    [
      connectAgent,
      [{ ...place, transports: [] }],
      "connectAgent: 'transports' must be an array of polling or websocket that is not empty, but it is an empty array"
    ],
    [
      connectAgent,
      [{ ...place, namespace: "smcp" }],
      "connectAgent: 'namespace' must be a string that begins with a slash, but it is of type string"
    ],
    [connectWebAgent, [], "connectAgent: argument 1 must be an object, but it is missing"],
    [
      connectWebAgent,
      [{ ...place, name: 7 }],
      "connectAgent: 'name' must be a string of 1 to 256 characters, but it is 7"
    ]
  ]
  for (const [fn, args, message] of rows) {
    it(`reports ${message}`, async () => {
      assert.strictEqual(await callWith(fn, args), `config_invalid: ${message}`)
    })
  }
})

describe("methods of the Promise API in plain JavaScript", () => {
  it("names missing and wrong arguments", async () => {
    await using server = await runServer({ authenticate: "allowAll" })
    const office = { url: server.url, office: "team" }
    await using computer = await runComputer({ ...office, name: "desk", config: { servers: {} } })
    await using agent = await connectAgent({ ...office, name: "thinker" })
    for (const [fn, args, message] of [
      [agent.callTool, [], "callTool: argument 1 must be an object, but it is missing"],
      [agent.callTool, [{}], "callTool: 'tool' must be a string, but it is missing"],
      [agent.callTool, ["echo"], "callTool: argument 1 must be an object, but it is of type string"],
      [agent.callTool, [{ tool: "x", args: {} }], "callTool: there is no option 'args'"],
      [agent.callTool, [{ tool: "x", params: [] }], "callTool: 'params' must be an object, but it is an empty array"],
      [
        agent.callTool,
        [{ tool: "x", timeout: "5" }],
        "callTool: 'timeout' must be a number above 0, but it is of type string"
      ],
      [agent.callTool, [{ tool: "x" }, null], "the last argument must be an object, but it is null"],
      [agent.members, [{ signal: true }], "'signal' must be an AbortSignal, but it is of type boolean"],
      [agent.getDesktop, ["desk", null], "the last argument must be an object, but it is null"],
      [agent.startTool, [{}], "startTool: 'tool' must be a string, but it is missing"],
      [computer.join, [{ ofice: "x" }], "join: there is no option 'ofice': did you mean 'office'?"],
      [computer.join, [{ office: "x", wait: "5" }], "join: 'wait' must be a number from 0, but it is of type string"],
      [agent.getTools, [], "getTools: argument 1 must be a string, but it is missing"],
      [agent.getDpe, ["desk"], "getDpe: argument 2 must be a string, but it is missing"],
      [agent.mcpRequest, ["desk"], "mcpRequest: argument 2 must be an object, but it is missing"],
      [agent.putBlob, ["desk", "text"], "putBlob: argument 2 must be a Uint8Array, but it is of type string"],
      [agent.decideApproval, ["desk", "a1"], "decideApproval: argument 3 must be an object, but it is missing"],
      [computer.callTool, [], "callTool: argument 1 must be an object, but it is missing"],
      [computer.reconfigure, [], "reconfigure: argument 1 must be an object, but it is missing"],
      [computer.explain, [{ subject: "ada" }], "explain: 'tool' must be a string, but it is missing"],
      [computer.join, [], "join: argument 1 must be an object, but it is missing"]
    ] as const) {
      assert.strictEqual(await callWith(fn, args), `config_invalid: ${message}`)
    }
    assert.throws(() => Reflect.apply(agent.changesOf, agent, []), "changesOf: argument 1 must be a string")
  })

  it("checks the options of its last argument", async () => {
    await using server = await runServer({ authenticate: "allowAll" })
    const office = { url: server.url, office: "team" }
    await using computer = await runComputer({ ...office, name: "desk", config: { servers: {} } })
    await using agent = await connectAgent({ ...office, name: "thinker" })
    const count = "must be an integer from 0 to 9007199254740991"
    const limit = "must be a number above 0, such as Infinity for no limit"
    for (const [fn, args, message] of [
      [computer.desktop, [{ size: "x" }], `desktop: 'size' ${count}, but it is of type string`],
      [computer.desktop, [{ windows: "w" }], "desktop: there is no option 'windows': did you mean 'window'?"],
      [agent.getDesktop, ["desk", { size: 1.5 }], `getDesktop: 'size' ${count}, but it is 1.5`],
      [agent.getDesktop, ["desk", { window: 5 }], "getDesktop: 'window' must be a string, but it is 5"],
      [
        agent.getDpe,
        ["desk", "dpe://a/b", { timeout: "5" }],
        "getDpe: 'timeout' must be a number above 0, but it is of type string"
      ],
      [agent.fetchDocument, ["desk", "dpe://a/b", { maxBytes: 0 }], `fetchDocument: 'maxBytes' ${limit}, but it is 0`],
      [agent.getResources, ["desk", "s", { cursor: null }], "getResources: 'cursor' must be a string, but it is null"],
      [
        agent.findDocuments,
        ["desk", { keyword: ["a"] }],
        "findDocuments: there is no option 'keyword': did you mean 'keywords'?"
      ],
      [
        agent.findDocuments,
        ["desk", { keywords: "a" }],
        "findDocuments: 'keywords' must be an array of strings, but it is of type string"
      ],
      [agent.findDocuments, ["desk", { offset: -1 }], `findDocuments: 'offset' ${count}, but it is -1`],
      [
        agent.findDocuments,
        ["desk", { limit: 0 }],
        "findDocuments: 'limit' must be an integer from 1 to 9007199254740991, but it is 0"
      ],
      [agent.getApprovals, ["desk", { id: "a" }], "getApprovals: there is no option 'id'"],
      [agent.blob, ["desk", "h", { timeout: 0 }], "blob: 'timeout' must be a number above 0, but it is 0"],
      [
        agent.putBlob,
        ["desk", new Uint8Array(1), { nameHint: 1 }],
        "putBlob: 'nameHint' must be a string, but it is 1"
      ],
      [agent.readSkill, ["desk", "s", { path: "a" }], "readSkill: there is no option 'path'"],
      [agent.readSkill, ["desk", "s", { maxBytes: "1" }], `readSkill: 'maxBytes' ${limit}, but it is of type string`],
      [
        agent.mcpClient,
        [{ tools: "none" }],
        "mcpClient: 'tools' must be all or search or auto, but it is of type string"
      ],
      [agent.mcpClient, [{ pinned: "a" }], "mcpClient: 'pinned' must be an array of strings, but it is of type string"]
    ] as const) {
      assert.strictEqual(await callWith(fn, args), `config_invalid: ${message}`)
    }
    const { signal } = new AbortController()
    assert.strictEqual(await callWith(computer.desktop, [{ size: 0, window: undefined, signal }]), "no error")
    assert.strictEqual(await callWith(agent.getTools, ["desk", { signal, sessionId: "of a host" }]), "no error")
  })
})
