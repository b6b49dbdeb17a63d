import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryApprovalStore from "../../../adapters/approvals/MemoryApprovalStore.ts"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { ApprovalStore, ApprovalsUnavailable } from "../../../../src/application/ports/approvals/ApprovalStore.ts"
import type { StoredApprovals } from "../../../../src/domain/approvals/standingApprovals.ts"
import type { LineName } from "../../../../src/domain/wire/lines.ts"
import { tool } from "../../../conformance/members.ts"
import { link, openApprovals, startedComputer } from "../testComputer.ts"

const toolsOf = (named: ReadonlyArray<{ readonly tool: string }>) => named.map(({ tool: name }) => name)

/** A Computer outside an office with two tools that need consent; `allow` allows one for good. */
const deciding = Effect.fnUntraced(function* (name = "pc") {
  const { computer, logged, logs } = yield* startedComputer({
    servers: { notes: yield* makeMemoryMcpServer({ tools: ["read", "write"].map((each) => tool(each)) }) },
    settings: { approvers: ["page"] },
    membership: { name },
    transport: { connect: () => Effect.succeed(link) }
  })
  const ask = Effect.fnUntraced(function* (toolName: string) {
    const [exposed = assert.fail()] = [...(yield* computer.catalogue).entries].flatMap(([key, { originalName }]) =>
      originalName === toolName ? [key] : []
    )
    const calling = yield* Effect.forkScoped(computer.callTool({ tool: exposed, params: {}, requester: "client" }))
    yield* TestClock.adjust(0)
    return { calling, id: (yield* openApprovals(computer)).find(({ shortName }) => shortName === toolName)?.id }
  })
  const allow = Effect.fnUntraced(function* (toolName: string) {
    const { calling, id = assert.fail() } = yield* ask(toolName)
    yield* Effect.orDie(computer.decideApproval(id, { action: "allow", scope: "tool" }))
    yield* Fiber.join(calling)
  })
  /** True when a call of the tool waits for an approval, which is denied then. */
  const needsApproval = Effect.fnUntraced(function* (toolName: string) {
    const { calling, id } = yield* ask(toolName)
    if (id !== undefined) yield* Effect.orDie(computer.decideApproval(id, { action: "deny" }))
    yield* Fiber.join(calling)
    return id !== undefined
  })
  return { allow, ask, computer, logged, logs, needsApproval }
})

/** A Computer whose store takes a second for each save, and fails while `isBroken`. */
const savingSlowly = Effect.gen(function* () {
  const store = { saving: 0, maxSaving: 0, isBroken: false, saved: [] as Array<ReadonlyArray<string>> }
  const layer = Layer.succeed(ApprovalStore, {
    load: () => Effect.succeed({ grants: [], pins: [] }),
    save: (_, { grants }) =>
      Effect.gen(function* () {
        store.saving += 1
        store.maxSaving = Math.max(store.maxSaving, store.saving)
        yield* Effect.sleep("1 second")
        store.saving -= 1
        if (store.isBroken) return yield* new ApprovalsUnavailable({ message: "disk full" })
        store.saved.push(toolsOf(grants))
      })
  })
  const { ask, computer, logged, logs } = yield* Effect.provide(deciding(), layer)
  /** Allows a call of this tool, and begins to save that. */
  const allow = Effect.fnUntraced(function* (name: string) {
    const { id = "" } = yield* ask(name)
    return yield* Effect.forkScoped(logged(computer.decideApproval(id, { action: "allow", scope: "tool" })))
  })
  return { allow, computer, logs, store }
})

describe("a decision beside another one", () => {
  it.effect("is saved after it, with both of them", () =>
    Effect.gen(function* () {
      const { allow, store } = yield* savingSlowly
      const decisions = [yield* allow("read"), yield* allow("write")]
      yield* TestClock.adjust("3 seconds")
      yield* Effect.forEach(decisions, Fiber.join)
      assert.deepStrictEqual([store.maxSaving, store.saved.at(-1)], [1, ["read", "write"]])
    })
  )

  it.effect("is also revoked in the store when it is revoked while it is saved", () =>
    Effect.gen(function* () {
      const { allow, computer, store } = yield* savingSlowly
      yield* allow("read")
      yield* TestClock.adjust("500 millis")
      const revoking = yield* Effect.forkScoped(computer.revokeGrant((yield* computer.grants)[0]?.id ?? ""))
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(yield* Fiber.join(revoking))
      assert.deepStrictEqual([store.maxSaving, store.saved.at(-1)], [1, []])
    })
  )

  it.effect("is saved with the next one when its own save fails", () =>
    Effect.gen(function* () {
      const { allow, logs, store } = yield* savingSlowly
      const decide = Effect.fnUntraced(function* (name: string) {
        const saving = yield* allow(name)
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(saving)).state, "allowed")
      })
      store.isBroken = true
      yield* decide("read")
      assert.include(logs.join(), "approvals not saved")
      store.isBroken = false
      yield* decide("write")
      assert.deepStrictEqual(store.saved, [["read", "write"]])
    })
  )
})

describe("a grant after a restart", () => {
  it.effect("is that of the Computer of this name", () =>
    Effect.gen(function* () {
      const first = yield* Scope.make()
      yield* Effect.flatMap(Scope.provide(deciding("pc"), first), ({ allow }) => Scope.provide(allow("read"), first))
      yield* Scope.close(first, Exit.void)
      const same = yield* deciding("pc")
      assert.deepStrictEqual([yield* same.needsApproval("read"), yield* same.needsApproval("write")], [false, true])
      const other = yield* deciding("pc-2")
      assert.isTrue(yield* other.needsApproval("read"))
    }).pipe(Effect.provide(MemoryApprovalStore.layer))
  )
})

/** A store in memory with these approvals, or one that cannot be read; counts the saves. */
const storeOf = (stored: StoredApprovals | undefined) => {
  const store = { stored, saves: 0 }
  const layer = Layer.succeed(ApprovalStore, {
    load: () =>
      store.stored === undefined
        ? Effect.fail(new ApprovalsUnavailable({ message: "not readable" }))
        : Effect.succeed(store.stored),
    save: (_, approvals) =>
      Effect.sync(() => {
        store.saves += 1
        store.stored = approvals
      })
  })
  /** Runs a Computer with this store until the end of this effect. */
  const inComputer = <A, E, R>(run: (one: Effect.Success<ReturnType<typeof deciding>>) => Effect.Effect<A, E, R>) =>
    Effect.provide(Effect.scoped(Effect.flatMap(deciding(), run)), layer)
  return { store, inComputer }
}

describe("a grant behind one that has ended", () => {
  it.effect("covers its calls", () =>
    Effect.gen(function* () {
      const { inComputer, store } = storeOf({ grants: [], pins: [] })
      yield* inComputer(({ allow }) => allow("read"))
      const [grant = assert.fail()] = store.stored?.grants ?? []
      store.stored = { grants: [{ ...grant, until: 0, id: "ended" }, grant], pins: store.stored?.pins ?? [] }
      assert.isFalse(yield* inComputer(({ needsApproval }) => needsApproval("read")))
    })
  )
})

describe("a store that cannot be loaded", () => {
  it.effect("is not overwritten: what is allowed then holds without it", () =>
    Effect.gen(function* () {
      const { inComputer, store } = storeOf(undefined)
      yield* inComputer(
        Effect.fnUntraced(function* ({ allow, computer, logs, needsApproval }) {
          assert.strictEqual(logs.filter((line) => line.includes("stored approvals not loaded")).length, 1)
          yield* allow("read")
          assert.isFalse(yield* needsApproval("read"))
          assert.isTrue(yield* computer.revokeGrant((yield* computer.grants)[0]?.id ?? ""))
        })
      )
      assert.deepStrictEqual(store, { stored: undefined, saves: 0 })
    })
  )
})

describe("a store that was loaded", () => {
  it.effect("is saved with the next approvals, and not again for a grant that is not there", () =>
    Effect.gen(function* () {
      const { inComputer, store } = storeOf({ grants: [], pins: [] })
      yield* inComputer(({ allow }) => allow("read"))
      yield* inComputer(({ allow }) => allow("write"))
      assert.deepStrictEqual(
        [toolsOf(store.stored?.grants ?? []), toolsOf(store.stored?.pins ?? []), store.saves],
        [["read", "write"], ["read", "write"], 2]
      )
      assert.isFalse(yield* inComputer(({ computer }) => computer.revokeGrant("ghost")))
      assert.strictEqual(store.saves, 2)
    })
  )
})

/** Where a Computer is: outside an office, or in one, on a line. */
type Place = readonly [office: string, protocol: LineName] | undefined

const places: { readonly [title: string]: Place } = {
  "outside an office": undefined,
  "in office o": ["o", "0.2"],
  "in office p": ["p", "0.2"],
  "in office o on line 0.4": ["o", "0.4"]
}

describe("a grant of the owner", () => {
  it.effect.each(Object.keys(places).flatMap((given) => Object.keys(places).map((used) => [given, used] as const)))(
    "that was given %s holds there only: a call %s",
    ([given, used]) =>
      Effect.gen(function* () {
        const { allow, computer, needsApproval } = yield* deciding()
        const move = Effect.fnUntraced(function* (to: Place) {
          yield* computer.leave
          if (to !== undefined) yield* Effect.orDie(computer.join({ office: to[0], protocol: to[1] }))
          yield* TestClock.adjust(0)
        })
        yield* move(places[given])
        yield* allow("read")
        yield* move(places[used])
        // The name of the tool differs on line 0.4, and is no part of what was approved.
        assert.strictEqual(yield* needsApproval("read"), given !== used)
      })
  )
})
