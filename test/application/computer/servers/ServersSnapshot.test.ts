import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import {
  makeSnapshotBuilder,
  type ServerState,
  type ServersSnapshot,
  stateNameOf,
  watchedUris
} from "../../../../src/application/computer/servers/ServersSnapshot.ts"
import type { McpInfo } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { type Naming, plainNaming } from "../../../../src/domain/tools/naming.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { setupOf } from "../testComputer.ts"

const listed = (...uris: ReadonlyArray<string>) => uris.map((uri) => resource(uri).definition)
const t = tool("t").definition
const window = "window://com.x.app/one"
const document = "dpe://com.x.app/doc"

/** A running server with these listings. */
const ready = Effect.fnUntraced(function* (
  name: string,
  {
    capabilities = {},
    settings = {},
    ...listings
  }: {
    readonly capabilities?: Partial<McpInfo["capabilities"]>
    readonly settings?: JsonObject
    readonly tools?: ReadonlyArray<JsonObject>
    readonly resources?: ReadonlyArray<JsonObject>
  } = {}
) {
  const session = yield* (yield* makeMemoryMcpServer({ capabilities })).connect
  const { servers } = setupOf([name], { configure: { [name]: settings } }).config
  const config = Option.getOrThrow(Option.fromUndefinedOr(servers[name]))
  return { _tag: "Ready" as const, config, session, tools: [], resources: [], prompts: [], templates: [], ...listings }
})

const backingOff: ServerState = { _tag: "BackingOff", reason: "gone", publicReason: "gone", attempt: 2, retryAt: 0 }
const namesOf = (servers: ServersSnapshot["running"]) => servers.map(({ config }) => config.name)
/** Builds snapshots that share their unchanged parts. */
const makeSnapshots = (showUnsubscribable = false) => {
  const build = makeSnapshotBuilder(showUnsubscribable)
  return (states: { readonly [name: string]: ServerState }, naming?: Naming) =>
    build(new Map(Object.entries(states)), naming)
}

const fingerprintsOf = ({ fingerprints }: ServersSnapshot) =>
  Object.fromEntries([...fingerprints].map(([part, fingerprint]) => [part, fingerprint()]))

describe("ServersSnapshot", () => {
  it.effect("lists ready and degraded servers as running", () =>
    Effect.gen(function* () {
      const alpha = yield* ready("alpha")
      const { running } = makeSnapshots()({
        alpha: { ...alpha, _tag: "Degraded", reason: "no resources" },
        beta: yield* ready("beta"),
        gamma: backingOff,
        delta: { _tag: "Stopped", reason: "disabled" },
        epsilon: { _tag: "Starting", attempt: 1 },
        zeta: { _tag: "Failed", reason: "forbidden", publicReason: "forbidden" }
      })
      assert.deepStrictEqual(namesOf(running), ["alpha", "beta"])
    })
  )

  it.effect.each([
    [false, ["both"]],
    [true, ["both", "resources"]]
  ] as ReadonlyArray<readonly [boolean, Array<string>]>)(
    "shows servers by capability, with showUnsubscribable %s",
    ([showUnsubscribable, expected]) =>
      Effect.gen(function* () {
        const { shown } = makeSnapshots(showUnsubscribable)({
          both: yield* ready("both"),
          resources: yield* ready("resources", { capabilities: { subscribe: false } }),
          tools: yield* ready("tools", { capabilities: { resources: false, subscribe: false } })
        })
        assert.deepStrictEqual(namesOf(shown), expected)
      })
  )

  it.effect("names the servers in their first start attempt", () =>
    Effect.gen(function* () {
      const snapshotOf = makeSnapshots()
      const starting = { _tag: "Starting", attempt: 1 } as const
      const before = snapshotOf({ alpha: starting, beta: { _tag: "Starting", attempt: 2 }, gamma: backingOff })
      assert.deepStrictEqual(before.starting, ["alpha"])
      assert.deepStrictEqual(snapshotOf({ alpha: yield* ready("alpha") }).starting, [])
      assert.deepStrictEqual(snapshotOf({ alpha: backingOff }).starting, [])
    })
  )

  it.effect("reuses its parts when only a server that is not running changes", () =>
    Effect.gen(function* () {
      const snapshotOf = makeSnapshots()
      const alpha = yield* ready("alpha", { tools: [t], resources: listed(document) })
      const before = snapshotOf({ alpha, beta: { _tag: "Starting", attempt: 1 } })
      const { catalogue, hostConflicts } = before
      const after = snapshotOf({ alpha, beta: backingOff })
      assert.strictEqual(after.states.get("beta"), backingOff)
      assert.strictEqual(after.running, before.running)
      assert.strictEqual(after.shown, before.shown)
      assert.strictEqual(after.catalogue, catalogue)
      assert.strictEqual(after.hostConflicts, hostConflicts)
    })
  )

  it.effect("lists the servers that do not start with the reasons for the office", () =>
    Effect.gen(function* () {
      const failure = { publicReason: "the process exited", reason: "the process exited: key 1234" }
      const last = { config: (yield* ready("ran", { tools: [t] })).config, tools: [], resources: [] }
      const { failing } = makeSnapshots()({
        ready: yield* ready("ready", { tools: [t] }),
        idle: { ...(yield* ready("idle", { tools: [t] })), _tag: "Idle", failure },
        stopped: { _tag: "Stopped", reason: "disabled" },
        first: { _tag: "Starting", attempt: 1 },
        waits: { _tag: "BackingOff", attempt: 2, retryAt: 1000, ...failure },
        again: { _tag: "Starting", attempt: 2, failure },
        failed: { _tag: "Failed", ...failure },
        ran: { _tag: "BackingOff", attempt: 2, retryAt: 1000, last, ...failure },
        runsAgain: { _tag: "Starting", attempt: 2, last, failure }
      })
      assert.deepStrictEqual(
        failing,
        ["waits", "again", "failed"].map((name) => ({ name, reason: "the process exited" }))
      )
    })
  )

  const [config] = Object.values(setupOf(["ran"]).config.servers)
  const lastOffer = { config: config ?? assert.fail(), tools: [], resources: [] }
  it.each<readonly [name: string, state: ServerState]>([
    ["stopped", { _tag: "Stopped", reason: "disabled" }],
    ["starting", { _tag: "Starting", attempt: 1 }],
    ["failing", backingOff],
    ["failing", { _tag: "Starting", attempt: 2 }],
    ["restarting", { ...backingOff, last: lastOffer }],
    ["restarting", { _tag: "Starting", attempt: 2, last: lastOffer }],
    ["failed", { _tag: "Failed", reason: "forbidden", publicReason: "forbidden" }]
  ])("is %s for people: %o", (name, state) => assert.strictEqual(stateNameOf(state), name))

  it.effect("reuses the catalogue when only resources change", () =>
    Effect.gen(function* () {
      const snapshotOf = makeSnapshots()
      const alpha = yield* ready("alpha", { tools: [t] })
      const { catalogue } = snapshotOf({ alpha })
      const after = snapshotOf({ alpha: { ...alpha, resources: listed(window) } })
      assert.strictEqual(after.catalogue, catalogue)
    })
  )

  it.effect("makes its catalogue and its fingerprints on demand", () =>
    Effect.gen(function* () {
      const alpha = yield* ready("alpha", { tools: [t] })
      const named: Array<string> = []
      const naming: Naming = {
        ...plainNaming,
        toolName: (_, name) => {
          named.push(name)
          return name
        }
      }
      const snapshot = makeSnapshots()({ alpha }, naming)
      assert.deepStrictEqual(named, [])
      assert.deepStrictEqual([...snapshot.catalogue.entries.keys()], ["t"])
      assert.deepStrictEqual(named, ["t"])
    })
  )

  it.effect("keeps its own catalogue after a newer snapshot was read", () =>
    Effect.gen(function* () {
      const snapshotOf = makeSnapshots()
      const alpha = yield* ready("alpha", { tools: [t] })
      const before = snapshotOf({ alpha })
      const after = snapshotOf({ alpha: { ...alpha, tools: [] } })
      assert.deepStrictEqual([...after.catalogue.entries.keys()], [])
      assert.deepStrictEqual([...before.catalogue.entries.keys()], ["t"])
    })
  )

  it.effect("reuses the host conflicts when only tools change", () =>
    Effect.gen(function* () {
      const snapshotOf = makeSnapshots()
      const alpha = yield* ready("alpha", { resources: listed(document) })
      const beta = yield* ready("beta", { resources: listed(document) })
      const { hostConflicts } = snapshotOf({ alpha, beta })
      const after = snapshotOf({ alpha, beta: { ...beta, tools: [t] } })
      assert.deepStrictEqual(hostConflicts, [{ host: "com.x.app", servers: ["alpha", "beta"] }])
      assert.strictEqual(after.hostConflicts, hostConflicts)
    })
  )

  const fingerprintsOfUris = (...uris: ReadonlyArray<string>) =>
    Effect.map(ready("alpha", { resources: listed(...uris) }), (alpha) => fingerprintsOf(makeSnapshots()({ alpha })))

  it.effect("ignores the order and the repetition of URIs in fingerprints", () =>
    Effect.gen(function* () {
      const [other, otherDocument] = ["window://com.x.app/two", "dpe://com.x.app/two"]
      assert.deepStrictEqual(
        yield* fingerprintsOfUris(other, window, otherDocument, document, window),
        yield* fingerprintsOfUris(document, window, otherDocument, other)
      )
    })
  )

  it.effect(
    "shows windows in the fingerprint of the desktop, documents in that of the finder, others in that of the tools",
    () =>
      Effect.gen(function* () {
        const none = yield* fingerprintsOfUris()
        const [withWindow, withDocument] = [yield* fingerprintsOfUris(window), yield* fingerprintsOfUris(document)]
        assert.notStrictEqual(withWindow.desktop, none.desktop)
        assert.strictEqual(withWindow.finder, none.finder)
        assert.notStrictEqual(withDocument.finder, none.finder)
        assert.strictEqual(withDocument.desktop, none.desktop)
        const withOther = yield* fingerprintsOfUris("file:///x")
        assert.deepStrictEqual([withOther.desktop, withOther.finder], [none.desktop, none.finder])
        assert.notStrictEqual(withOther.toolList, none.toolList)
      })
  )

  it.effect(
    "shows what Agents fetch with the tools in their fingerprint: of another session, also with the same listings",
    () =>
      Effect.gen(function* () {
        const alpha = yield* ready("alpha")
        const states: ReadonlyArray<ServerState> = [
          alpha,
          { ...alpha, session: { ...alpha.session, info: { ...alpha.session.info, instructions: "Take notes" } } },
          { ...alpha, session: { ...alpha.session, info: { ...alpha.session.info, instructions: "Be brief" } } },
          { ...alpha, prompts: [{ name: "greet" }] },
          { ...alpha, templates: [{ uriTemplate: "note://{id}" }] },
          { ...alpha, resources: [{ uri: "ui://form", mimeType: "text/html;profile=mcp-app" }] }
        ]
        const snapshotOf = makeSnapshots()
        // Each one follows the first: it differs by one listing alone.
        const texts = states.flatMap((state) =>
          [alpha, state].map((next) => fingerprintsOf(snapshotOf({ alpha: next }))["toolList"])
        )
        assert.lengthOf([...new Set(texts)], states.length)
      })
  )

  it.effect("watches windows and documents of servers with subscriptions", () =>
    Effect.gen(function* () {
      const resources = listed(window, "file:///x", document)
      const one = yield* ready("one", { resources })
      const other = yield* ready("other", { resources, capabilities: { subscribe: false } })
      assert.deepStrictEqual([...watchedUris(one)], [window, document])
      assert.deepStrictEqual([...watchedUris(other)], [])
    })
  )
})
