import { readFileSync } from "node:fs"
import { createServer, get } from "node:http"
import { setImmediate, setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Server as SocketIo } from "socket.io"
import { io } from "socket.io-client"
import type { ServerOptions } from "../../../src/main/entrypoints/promise.ts"
import { hangingTool, resource, textResult, tool } from "../../conformance/members.ts"
import { loopbackAddress, unusedUrl } from "../../loopbackAddress.ts"
import { codeOf, inOffice, waitLimit, type PromiseOffice } from "./promiseOffice.ts"
import { type OptionRows, testOptions } from "./optionRows.ts"

type Settings = NonNullable<ServerOptions["settings"]>
type Limits = NonNullable<ServerOptions["limits"]>
type PageOptions = Exclude<NonNullable<ServerOptions["page"]>, false>

const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), "utf8")
const handshakePath = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0"

const joining = (options: Partial<ServerOptions>) => inOffice((office) => codeOf(office.agent()), options)

const urlOf = (options: Partial<ServerOptions>) => inOffice(({ server }) => Promise.resolve(server.url), options)

const statusOf = (options: Partial<ServerOptions>, path: string, headers = {}) =>
  inOffice(async ({ server }) => (await fetch(`${server.url}${path}`, { headers })).status, options)

/** Whether the handshake of Engine.IO states a number. */
const isStated = (options: Partial<ServerOptions>, member: string, value: number) =>
  inOffice(
    async ({ server }) =>
      (await (await fetch(`${server.url}${handshakePath}`)).text()).includes(`"${member}":${value}`),
    options
  )

/** A Computer with a tool that hangs, one that takes a time, and a window that cannot be read, and its Agent. */
const withTools = async (office: PromiseOffice) => {
  const tools = [
    Effect.runSync(hangingTool("hang")).hanging,
    tool("slow", () => Effect.delay(Effect.succeed(textResult("slow")), "300 millis"))
  ]
  const window = { ...resource("window://com.example.notes/main"), read: Effect.never }
  const alpha = {
    ...(await office.mcpServer({ tools, resources: [window] })),
    default_tool_meta: { auto_apply: true }
  }
  await office.computer({ config: { servers: { alpha } } })
  return office.agent()
}

/** What two calls at once give that never end. */
const callsAtOnce = (limits: Limits) =>
  inOffice(
    async (office) => {
      const agent = await withTools(office)
      const ending = new AbortController()
      const call = async () => {
        const code = await codeOf(agent.callTool({ computer: "desk", tool: "hang" }, ending))
        ending.abort()
        return code
      }
      const calls = Promise.all([call(), call()])
      while (!ending.signal.aborted && (await office.server.load()).calls < 2) await setImmediate()
      ending.abort()
      return (await calls).includes(429)
    },
    { limits }
  )

/** Whether the last of some requests is rejected. Between them the default rate permits further ones, on any machine. */
const isLimited = (limits: Limits) =>
  inOffice(
    async (office) => {
      const agent = await office.agent()
      let last: unknown
      for (let count = 0; count < 6; count++) {
        await setTimeout(5)
        last = await codeOf(agent.members())
      }
      return last !== "resolved"
    },
    { limits }
  )

/** Joins as the second member. */
const isSecondRejected = (limits: Limits, place: string) =>
  inOffice(
    async (office) => {
      await office.agent()
      return (await codeOf(office.computer({ office: place }))) !== "resolved"
    },
    { limits }
  )

/** Whether a connection that never joins is closed. */
const isClosedOutside = (limits: Limits) =>
  inOffice(
    async (office) => {
      const query = { a2c_version: "0.2.0" }
      const socket = io(`${office.server.url}/smcp`, { path: "/smcp", query, forceNew: true, reconnection: false })
      office.defer(() => socket.close())
      return new Promise((resolve) => {
        socket.once("disconnect", () => resolve(true))
        waitLimit(limits.joinTimeout !== undefined).signal.addEventListener("abort", () => resolve(false))
      })
    },
    { limits }
  )

const isClosedIdle = (limits: Limits) =>
  inOffice(
    async (office) => {
      const agent = await office.agent()
      await agent.settled()
      try {
        for await (const { _tag } of agent.status(waitLimit(limits.idleTimeout !== undefined)))
          if (_tag === "Disconnected") return true
      } catch {
        return false
      }
      return undefined
    },
    { limits }
  )

const fixed = loopbackAddress()

/** `fallback` and `validate` are for hosts and tests of the transport; `log` has the tests of RunningService. */
const optionRows: OptionRows<
  Omit<ServerOptions, "settings" | "limits" | "fallback" | "validate" | "validateBytes" | "log" | "engine">
> = {
  authenticate: [{ authenticate: () => false }, ["resolved", 401], joining],
  lines: [{ lines: ["0.4"] }, ["resolved", 4008], joining],
  page: [{ page: false }, [false, true], async (given) => (await statusOf(given, "/office/")) === 404],
  redis: [
    { redis: { url: "nonsense" } },
    ["resolved", "redis_url_invalid"],
    (given) => codeOf(inOffice(() => Promise.resolve(), given))
  ],
  httpServer: [{ httpServer: createServer() }, [true, false], async (given) => (await urlOf(given)) !== ""],
  io: [{ io: new SocketIo(createServer()) }, [true, false], async (given) => (await urlOf(given)) !== ""],
  host: [{ host: fixed.host }, [false, true], async (given) => new URL(await urlOf(given)).hostname === fixed.host],
  port: [
    { port: fixed.port },
    [false, true],
    async (given) => new URL(await urlOf({ host: fixed.host, ...given })).port === String(fixed.port)
  ],
  tls: [
    { tls: { cert: pem("first.cert"), key: pem("first.key") } },
    ["http:", "https:"],
    async (given) => new URL(await urlOf(given)).protocol
  ],
  paths: [{ paths: ["/other"] }, [200, 404], (given) => statusOf(given, handshakePath)],
  allowedOrigins: [
    { allowedOrigins: ["https://app.example"] },
    [403, 200],
    (given) => statusOf(given, handshakePath, { Origin: "https://app.example" })
  ],
  namespace: [{ namespace: "/other" }, ["resolved", 404], joining],
  maxMessageBytes: [
    { maxMessageBytes: 5000 },
    [false, true],
    (given) =>
      inOffice(async (office) => {
        const agent = await withTools(office)
        const params = { text: "x".repeat(6000) }
        return (await codeOf(agent.callTool({ computer: "desk", tool: "slow", params }))) === 413
      }, given)
  ],
  pingInterval: [{ pingInterval: 12_345 }, [false, true], (given) => isStated(given, "pingInterval", 12_345)],
  pingTimeout: [{ pingTimeout: 12_345 }, [false, true], (given) => isStated(given, "pingTimeout", 12_345)]
}

/** Our Agents wait no longer than they state, so they never see `timeoutGrace`. */
const settingRows: OptionRows<Omit<Settings, "timeoutGrace">> = {
  routingTimeout: [
    { routingTimeout: 50 },
    ["aborted", 408],
    (settings) =>
      inOffice(
        async (office) => {
          const agent = await withTools(office)
          return codeOf(agent.getDesktop("desk", waitLimit("routingTimeout" in settings)))
        },
        { settings }
      )
  ],
  drainTimeout: [
    { drainTimeout: 60_000 },
    [false, true],
    (settings) =>
      inOffice(
        async (office) => {
          const agent = await withTools(office)
          const called = codeOf(agent.callTool({ computer: "desk", tool: "slow" }))
          while ((await office.server.load()).calls === 0) await setImmediate()
          await office.server.close()
          return (await called) === "resolved"
        },
        { settings }
      )
  ],
  requireRole: [
    { requireRole: true },
    [true, false],
    (settings) =>
      inOffice(
        (office) => {
          const query = { a2c_version: "0.2.0" }
          const socket = io(`${office.server.url}/smcp`, { path: "/smcp", query, forceNew: true, reconnection: false })
          office.defer(() => socket.close())
          return new Promise((resolve) => {
            socket.once("connect", () => resolve(true))
            socket.once("connect_error", () => resolve(false))
          })
        },
        { settings }
      )
  ]
}

/** Whether the metrics have this limit of the memory of all clients. */
const isShown = (limits: Limits, name: string) =>
  inOffice(
    async ({ server }) => (await (await fetch(`${server.url}/metrics`)).text()).includes(`{limit="${name}"} 12345678`),
    { limits }
  )

/** The bounds of the bytes of one client need slow readers, which residentMemory.test.ts has. */
type ClientBytes = "backlogBytes" | "notificationBacklogBytes"

const limitRows: OptionRows<Omit<Limits, ClientBytes>> = {
  totalBacklogBytes: [
    { totalBacklogBytes: 12_345_678 },
    [false, true],
    (given) => isShown(given, "total_backlog_bytes")
  ],
  totalIncompleteBytes: [
    { totalIncompleteBytes: 12_345_678 },
    [false, true],
    (given) => isShown(given, "total_incomplete_bytes")
  ],
  totalRequestBytes: [
    { totalRequestBytes: 12_345_678 },
    [false, true],
    (given) => isShown(given, "total_request_bytes")
  ],
  messagesPerSecond: [{ messagesPerSecond: 0.01 }, [false, true], (given) => isLimited({ messageBurst: 3, ...given })],
  messageBurst: [{ messageBurst: 3 }, [false, true], (given) => isLimited({ messagesPerSecond: 0.01, ...given })],
  callsPerAgent: [{ callsPerAgent: 1 }, [false, true], callsAtOnce],
  callsPerComputer: [{ callsPerComputer: 1 }, [false, true], callsAtOnce],
  connections: [{ connections: 1 }, [false, true], (given) => isSecondRejected(given, "team")],
  offices: [{ offices: 1 }, [false, true], (given) => isSecondRejected(given, "other")],
  membersPerOffice: [{ membersPerOffice: 1 }, [false, true], (given) => isSecondRejected(given, "team")],
  nameLength: [{ nameLength: 3 }, ["resolved", "join_rejected"], (limits) => joining({ limits })],
  officeLength: [{ officeLength: 3 }, ["resolved", "join_rejected"], (limits) => joining({ limits })],
  requestIdLength: [
    { requestIdLength: 3 },
    ["resolved", 400],
    (limits) =>
      inOffice(
        async (office) => {
          await office.computer()
          return codeOf((await office.agent()).getTools("desk"))
        },
        { limits }
      )
  ],
  joinTimeout: [{ joinTimeout: 100 }, [false, true], isClosedOutside],
  idleTimeout: [{ idleTimeout: 100 }, [false, true], isClosedIdle]
}

/** What the page tells of its session. */
const sessionOf = (page: PageOptions, member: string) =>
  inOffice(
    async ({ server }) => Object((await (await fetch(`${server.url}/office/api/session`)).json()) as unknown)[member],
    { page }
  )

const pageRows: OptionRows<PageOptions> = {
  assets: [
    { assets: fileURLToPath(new URL("../../fixtures/page/", import.meta.url)) },
    [false, true],
    (page) =>
      inOffice(async ({ server }) => (await (await fetch(`${server.url}/office/`)).text()).includes("ABCD1234"), {
        page
      })
  ],
  apps: [
    { apps: { port: 0, origin: "https://apps.example" } },
    [false, true],
    async (page) => (await sessionOf(page, "appOrigin")) === "https://apps.example"
  ],
  bodies: [{ bodies: {} }, [false, true], (page) => sessionOf(page, "hasBodies")]
}

describe("runServer", () => {
  testOptions(optionRows)
})
describe("redis of runServer", () => {
  it("listens for other nodes at its address alone", async () => {
    // The port is taken by a Server; Redis is not needed to see it.
    const outcomes = await Promise.all(
      [false, true].map((isGiven) =>
        inOffice(async ({ server }) => {
          const { hostname: host, port } = new URL(server.url)
          const address = isGiven ? { address: { host, port: Number(port) } } : {}
          const starting = inOffice(() => Promise.resolve(), {
            redis: { url: unusedUrl().replace("http", "redis"), ...address }
          })
          return codeOf(starting)
        })
      )
    )
    assert.deepStrictEqual(outcomes, ["resolved", "listen_failed"])
  })
})
describe("page of runServer", () => {
  testOptions(pageRows)

  it("is served at its address, and at the hosts of allowed origins", async () => {
    const statusAt = (host: string) =>
      inOffice(
        ({ server }) =>
          new Promise((resolve, reject) => {
            const request = get(`${server.url}/office/api/session`, { headers: { host } }, (response) => {
              response.resume()
              resolve(response.statusCode)
            })
            request.on("error", reject)
          }),
        { allowedOrigins: ["https://app.example", "https://b.example:8443"] }
      )
    const hosts = ["localhost", "app.example", "b.example", "evil.example"]
    assert.deepStrictEqual(await Promise.all(hosts.map(statusAt)), [200, 200, 200, 403])
  })
})
describe("settings of runServer", () => {
  testOptions(settingRows)
})
describe("limits of runServer", () => {
  testOptions(limitRows)
})
