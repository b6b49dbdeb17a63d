import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { ServerConfig } from "../../../src/domain/config/computerConfig.ts"
import {
  fullReason,
  initialServer,
  lastOfferOf,
  type McpErrorReason,
  type McpOffer,
  type McpServer,
  type McpServerCommand,
  type McpServerEvent,
  type SessionFailure,
  transition
} from "../../../src/domain/mcpServers/McpServer.ts"

type Server = McpServer<McpOffer>
type Event = McpServerEvent<McpOffer>
type State<T extends Server["_tag"]> = Extract<Server, { readonly _tag: T }>

const config = { name: "alpha", disabled: false } as ServerConfig
const otherConfig = { ...config, forbiddenTools: ["t"] }
const offer: McpOffer = { config, tools: [{ name: "t" }], resources: [], prompts: [], templates: [] }
const nextOffer: McpOffer = { ...offer, tools: [], resources: [{ uri: "a:" }, { uri: "b:" }] }
const last = { config, tools: offer.tools, resources: offer.resources }
const gone: SessionFailure = { reason: "closed", message: "gone" }
const forbidden: SessionFailure = { reason: "forbidden", message: "not you" }
const run = 7
const minutes = 60_000

const stopped: State<"Stopped"> = { _tag: "Stopped", run, reason: "stopped_by_user" }
const starting: State<"Starting"> = { _tag: "Starting", run, attempt: 3, last }
const running: State<"Running"> = {
  _tag: "Running",
  run,
  lifecycle: "eager",
  attempt: 3,
  offer,
  since: 1000,
  problems: new Map([["keepalive", "slow"]])
}
const runningLazily: State<"Running"> = { ...running, lifecycle: "lazy" }
const idle: State<"Idle"> = { _tag: "Idle", run, offer, failures: 0, retryAt: 0 }
const failedIdle: State<"Idle"> = { ...idle, failure: gone, failures: 2, retryAt: 5000 }
const waking: State<"Waking"> = { _tag: "Waking", run, offer, failure: gone, failures: 2 }
const backingOff: State<"BackingOff"> = { _tag: "BackingOff", run, attempt: 4, retryAt: 9000, failure: gone, last }
const failed: State<"Failed"> = { _tag: "Failed", run, failure: forbidden }

const states: { readonly [name: string]: Server } = {
  stopped,
  starting,
  running,
  runningLazily,
  idle,
  failedIdle,
  waking,
  backingOff,
  failed
}

const end = { run, at: 1500, jitter: 0 }
const events: { readonly [name: string]: Event } = {
  start: { _tag: "Start", run: 8 },
  stop: { _tag: "Stop" },
  reload: { _tag: "Reload", run: 8, disabled: false },
  disable: { _tag: "Reload", run: 8, disabled: true },
  reconfigure: { _tag: "Reconfigure", config: otherConfig },
  listed: { _tag: "Listed", run, offer: nextOffer },
  requested: { _tag: "Requested", run, at: 4999 },
  requestedLater: { _tag: "Requested", run, at: 5000 },
  ready: { _tag: "Ready", run, offer: nextOffer, at: 2000 },
  startFailed: { _tag: "StartFailed", failure: gone, ...end },
  startForbidden: { _tag: "StartFailed", failure: forbidden, ...end },
  listingsChanged: { _tag: "ListingsChanged", run, listings: { prompts: [{ name: "p" }] } },
  degraded: { _tag: "HealthChanged", run, source: "tools", reason: "no list" },
  sameHealth: { _tag: "HealthChanged", run, source: "keepalive", reason: "slow" },
  recovered: { _tag: "HealthChanged", run, source: "keepalive", reason: undefined },
  healthy: { _tag: "HealthChanged", run, source: "tools", reason: undefined },
  lost: { _tag: "Lost", failure: gone, ...end },
  lostForbidden: { _tag: "Lost", failure: forbidden, ...end },
  idleTimedOut: { _tag: "IdleTimedOut", run },
  retryDue: { _tag: "RetryDue", run }
}

const open: McpServerCommand = { _tag: "Open" }
const close: McpServerCommand = { _tag: "Close" }
const started: Server = { _tag: "Starting", run: 8, attempt: 1 }
const startedAgain: Server = { ...started, last }
const disabled: Server = { _tag: "Stopped", run: 8, reason: "disabled" }
const ran = (lifecycle: "eager" | "lazy", attempt: number): Server => ({
  _tag: "Running",
  run,
  lifecycle,
  attempt,
  offer: nextOffer,
  since: 2000,
  problems: new Map()
})
const restarting = (wait: number): ReadonlyArray<McpServerCommand> => [{ _tag: "Retry", at: 1500 + wait }]
const waitingFrom = (at: number): Server => ({ ...backingOff, retryAt: at })
const reconfigured = (server: Server): Server =>
  "offer" in server ? { ...server, offer: { ...offer, config: otherConfig } } : server
const withProblems = (server: State<"Running">, ...problems: ReadonlyArray<readonly [string, string]>): Server => ({
  ...server,
  problems: new Map(problems)
})
const slow = ["keepalive", "slow"] as const

type Row = readonly [next: Server, commands: ReadonlyArray<McpServerCommand>]

/** What an owner does to a server in any state, where the state has no other row. */
const ownerRows: { readonly [event: string]: Row } = {
  stop: [stopped, [close]],
  reload: [started, [close, open]],
  disable: [disabled, [close]]
}

/** What the session of a running server reports. */
const sessionRows = (server: State<"Running">): { readonly [event: string]: Row } => ({
  listingsChanged: [{ ...server, offer: { ...offer, prompts: [{ name: "p" }] } }, []],
  degraded: [withProblems(server, slow, ["tools", "no list"]), []],
  recovered: [withProblems(server), []],
  idleTimedOut: [idle, []],
  reconfigure: [reconfigured(server), []]
})

/** The rows of a state by event. All other events change nothing. */
const table: { readonly [state: string]: { readonly [event: string]: Row } } = {
  stopped: { start: [started, [open]] },
  starting: {
    reconfigure: [{ ...starting, last: { ...last, config: otherConfig } }, []],
    listed: [{ ...idle, offer: nextOffer }, []],
    ready: [ran("eager", 3), []],
    startFailed: [waitingFrom(3500), restarting(2000)],
    startForbidden: [failed, []]
  },
  running: {
    ...sessionRows(running),
    lost: [waitingFrom(3500), restarting(2000)],
    lostForbidden: [failed, []]
  },
  runningLazily: {
    ...sessionRows(runningLazily),
    lost: [{ ...idle, failure: gone }, []],
    lostForbidden: [{ ...idle, failure: forbidden }, []]
  },
  idle: {
    reconfigure: [reconfigured(idle), []],
    requested: [{ _tag: "Waking", run, offer, failures: 0 }, [open]],
    requestedLater: [{ _tag: "Waking", run, offer, failures: 0 }, [open]]
  },
  failedIdle: {
    reconfigure: [reconfigured(failedIdle), []],
    requestedLater: [waking, [open]]
  },
  waking: {
    reconfigure: [reconfigured(waking), []],
    ready: [ran("lazy", 1), []],
    startFailed: [{ ...idle, failure: gone, failures: 3, retryAt: 3500 }, []],
    startForbidden: [{ ...idle, failure: forbidden, failures: 3, retryAt: 3500 }, []]
  },
  backingOff: {
    start: [startedAgain, [open]],
    reconfigure: [{ ...backingOff, last: { ...last, config: otherConfig } }, []],
    retryDue: [{ ...starting, attempt: 4, failure: gone }, [open]]
  },
  failed: { start: [started, [open]] }
}

describe("life of an MCP server", () => {
  for (const [state, server] of Object.entries(states)) {
    for (const [name, event] of Object.entries(events)) {
      const row = table[state]?.[name] ?? ownerRows[name]
      if (row === undefined) {
        it(`stays ${state} on ${name}`, () => {
          const [next, commands] = transition(server, event)
          assert.strictEqual(next, server)
          assert.deepStrictEqual(commands, [])
        })
      } else {
        it(`goes from ${state} to ${row[0]._tag} on ${name}`, () => {
          assert.deepStrictEqual(transition(server, event), row)
        })
      }
    }
  }

  it.each(Object.entries(states))("ignores all events of an earlier run while it is %s", (_, server) => {
    for (const event of Object.values(events)) {
      if (event._tag === "Stop" || event._tag === "Reconfigure" || event._tag === "Start" || event._tag === "Reload") {
        continue
      }
      assert.deepStrictEqual(transition(server, { ...event, run: run - 1 }), [server, []])
    }
  })

  it.each<[string, Server, ReadonlyArray<McpServerCommand>]>([
    ["starts", initialServer(run, false), []],
    ["is stopped when it is disabled", initialServer(run, true), []]
  ])("%s in its first run", (_, server) => {
    assert.deepStrictEqual(
      server,
      server._tag === "Starting" ? { _tag: "Starting", run, attempt: 1 } : { _tag: "Stopped", run, reason: "disabled" }
    )
  })

  it.each<[string, Server]>([
    ["never ran", { _tag: "Starting", run, attempt: 1 }],
    ["is stopped", stopped],
    ["failed", failed]
  ])("keeps no configuration of a server that %s", (_, server) => {
    assert.strictEqual(transition(server, { _tag: "Reconfigure", config: otherConfig })[0], server)
  })

  it("offers nothing of a server that never ran while it restarts", () => {
    const never: Server = { _tag: "Starting", run, attempt: 1 }
    const [next] = transition(never, { _tag: "StartFailed", failure: gone, ...end })
    assert.deepStrictEqual(next, { _tag: "BackingOff", run, attempt: 2, retryAt: 2000, failure: gone })
    assert.deepStrictEqual(transition(next, { _tag: "RetryDue", run })[0], {
      _tag: "Starting",
      run,
      attempt: 2,
      failure: gone
    })
    assert.isUndefined(lastOfferOf(next))
  })

  it.each<[string, number, number]>([
    ["just short of two minutes", 1000 + 2 * minutes - 1, 3],
    ["two minutes", 1000 + 2 * minutes, 1]
  ])("resets the attempts of a server that ran for %s", (_, at, attempt) => {
    const [next] = transition(running, { _tag: "Lost", run, failure: gone, at, jitter: 0 })
    assert.strictEqual(next._tag === "BackingOff" ? next.attempt : 0, attempt + 1)
  })

  it.each<[McpErrorReason | "misconfigured", boolean]>([
    ["protocol", false],
    ["unauthorized", true],
    ["forbidden", true],
    ["closed", false],
    ["unavailable", false],
    ["unsupported", false],
    ["misconfigured", true]
  ])("takes the failure %s of a start as permanent: %s", (reason, isPermanent) => {
    const [next] = transition(starting, { _tag: "StartFailed", failure: { reason, message: "" }, ...end })
    assert.strictEqual(next._tag, isPermanent ? "Failed" : "BackingOff")
  })

  it.each<[number, number, number, number]>([
    [1, -0.2, 400, 400],
    [1, 0.2, 600, 600],
    [2, 0, 1000, 1000],
    [5, 0, 8000, 8000],
    [6, 0, 16_000, 10_000],
    [8, 0, 60_000, 10_000],
    [100, 0.2, 72_000, 12_000]
  ])(
    "waits after start %d with the jitter %d: %d ms by itself, %d ms on request",
    (attempt, jitter, eager, onRequest) => {
      const event = { _tag: "StartFailed", run, failure: gone, at: 0, jitter } as const
      const [restarts] = transition<McpOffer>({ ...starting, attempt }, event)
      const [idles] = transition<McpOffer>({ ...waking, failures: attempt - 1 }, event)
      assert.deepStrictEqual(
        [restarts, idles].map((next) => ("retryAt" in next ? next.retryAt : 0)),
        [eager, onRequest]
      )
    }
  )

  it("gives the last output of a lost server in the reason for its owner", () => {
    assert.deepStrictEqual([fullReason(gone), fullReason({ ...gone, output: "stack" })], ["gone", "gone: stack"])
  })

  const anyEvents = Schema.Array(Schema.Literals(Object.keys(events)))
  it.prop("has at most one work at a time, which only a running or starting server does", [anyEvents], ([names]) => {
    let server: Server = initialServer(run, false)
    for (const name of names) {
      const event = events[name] ?? assert.fail()
      const [next, commands] = transition(
        server,
        "run" in event ? { ...event, run: Math.max(event.run, server.run) } : event
      )
      const works = commands.filter(({ _tag }) => _tag === "Open" || _tag === "Retry")
      assert.isAtMost(works.length, 1)
      if (works[0]?._tag === "Open") assert.oneOf(next._tag, ["Starting", "Waking"])
      if (works[0]?._tag === "Retry") assert.strictEqual(next._tag, "BackingOff")
      server = next
    }
  })
})
