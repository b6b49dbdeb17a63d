import { assert, describe, it } from "@effect/vitest"
import { A2cError, connectAgent, runComputer, runServer } from "../../src/main/entrypoints/promise.ts"
import { connectAgent as connectWebAgent } from "../../src/main/entrypoints/agent.ts"

/** Calls a function as plain JavaScript does, without types. */
const callWith = async (fn: unknown, args: ReadonlyArray<unknown>): Promise<unknown> => {
  try {
    await (fn as (...given: ReadonlyArray<unknown>) => Promise<unknown>)(...args)
    return "no error"
  } catch (error) {
    return error instanceof A2cError ? `${error.code}: ${error.message}` : error
  }
}

const server = { authenticate: "allowAll" }
const desk = { url: "http://127.0.0.1:9", name: "desk", config: {} }
const place = { url: "http://127.0.0.1:9", office: "team", name: "x" }

describe("a function of the Promise API in plain JavaScript", () => {
  for (const [fn, args, message] of [
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
    [runComputer, [{ ...place, url: 80, config: {} }], "runComputer: 'url' must be a string, but it is of type number"],
    [runComputer, [place], "runComputer: 'config' must be an object, but it is missing"],
    [connectAgent, [], "connectAgent: argument 1 must be an object, but it is missing"],
    [connectAgent, [[]], "connectAgent: argument 1 must be an object, but it is of type array"],
    [connectAgent, [{ ...place, office: undefined }], "connectAgent: 'office' must be a string, but it is missing"],
    [runServer, [{ ...server, port: "80" }], "runServer: 'port' must be a number, but it is of type string"],
    [runServer, [{ ...server, limits: null }], "runServer: 'limits' must be an object, but it is null"],
    [
      runServer,
      [{ ...server, limits: { conections: 1 } }],
      "runServer: there is no option 'limits.conections': did you mean 'connections'?"
    ],
    [
      runServer,
      [{ ...server, settings: { drainTimeout: "1 s" } }],
      "runServer: 'settings.drainTimeout' must be a number, but it is of type string"
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
    [
      connectAgent,
      [{ ...place, token: 5 }],
      "connectAgent: 'token' must be a string or a function, but it is of type number"
    ],
    [connectAgent, [{ ...place, wait: null }], "connectAgent: 'wait' must be a number, but it is null"],
    [
      connectAgent,
      [{ ...place, transports: "websocket" }],
      "connectAgent: 'transports' must be an array of polling or websocket, but it is of type string"
    ],
    [connectWebAgent, [], "connectAgent: argument 1 must be an object, but it is missing"],
    [connectWebAgent, [{ ...place, name: 7 }], "connectAgent: 'name' must be a string, but it is of type number"]
  ] as const) {
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
      [agent.getTools, [], "getTools: argument 1 must be a string, but it is missing"],
      [agent.getDpe, ["desk"], "getDpe: argument 2 must be a string, but it is missing"],
      [agent.mcpRequest, ["desk"], "mcpRequest: argument 2 must be an object, but it is missing"],
      [agent.putBlob, ["desk", "text"], "putBlob: argument 2 must be a Uint8Array, but it is of type string"],
      [agent.decideApproval, ["desk", "a1"], "decideApproval: argument 3 must be an object, but it is missing"],
      [computer.callTool, [], "callTool: argument 1 must be an object, but it is missing"],
      [computer.reconfigure, [], "reconfigure: argument 1 must be an object, but it is missing"],
      [computer.explain, [{}], "explain: 'tool' must be a string, but it is missing"],
      [computer.join, [], "join: argument 1 must be an object, but it is missing"]
    ] as const) {
      assert.strictEqual(await callWith(fn, args), `config_invalid: ${message}`)
    }
    assert.throws(() => Reflect.apply(agent.changesOf, agent, []), "changesOf: argument 1 must be a string")
  })
})
