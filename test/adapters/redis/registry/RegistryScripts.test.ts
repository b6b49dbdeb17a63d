import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { computerIn, makeScriptedRegistry, node, replying } from "./scriptedRegistry.ts"

const hash = (text: string) => createHash("sha256").update(text).digest("hex")

const unlimited = { offices: Number.POSITIVE_INFINITY, membersPerOffice: Number.POSITIVE_INFINITY }

describe("the caller of scripts", () => {
  it.effect("restores a member with its time, and with hashes of its subject and its reconnect key", () =>
    Effect.gen(function* () {
      const { calls, connect, connectMember, local, scripts } = yield* makeScriptedRegistry()
      connectMember("s1", computerIn("O", "PC"), { joinedAt: 70, revision: 5, subject: "ann", reconnectKey: "key" })
      connectMember("s2", { office: "P", role: "agent", name: "ada" }, { revision: 7 })
      connect("s3")
      local.beginJoin("s3", "Q", () => undefined)
      yield* scripts.reconcile(Duration.seconds(3), Duration.seconds(1), local)
      const json = { node, version: "0.2.0" }
      const [pc, ada] = [computerIn("O", "PC"), { office: "P", role: "agent", name: "ada" }]
      assert.deepStrictEqual(calls, [
        {
          name: "reconcile",
          args: [
            node,
            "tcp://here",
            "3000",
            "7",
            "1000",
            "2",
            "s1",
            "O",
            "cPC",
            JSON.stringify({ sid: "s1", ...json, seat: pc, at: 70, owner: hash("ann") }),
            hash("key"),
            "s2",
            "P",
            "a",
            JSON.stringify({ sid: "s2", ...json, seat: ada, owner: "" }),
            "",
            "s3"
          ],
          timeout: 5
        }
      ])
    })
  )

  it.effect("joins a member at a time, until a second later by the clock of Redis", () =>
    Effect.gen(function* () {
      const { calls, connect, scripts } = yield* makeScriptedRegistry(replying({ renew: ["ok", [node], 90_000] }))
      yield* scripts.renew(Duration.seconds(3))
      yield* TestClock.adjust("2 seconds")
      const { session } = connect("s1", { subject: "ann", reconnectKey: "key" })
      yield* scripts.join(session, computerIn("O"), { at: 50 }, { offices: 3, membersPerOffice: 4 })
      const json = { sid: "s1", node, version: "0.2.0", seat: computerIn("O"), at: 50, owner: hash("ann") }
      assert.deepStrictEqual(calls.at(-1), {
        name: "join",
        args: [node, "s1", "O", "cpc", "pc", JSON.stringify(json), hash("key"), "3", "4", "93000", "0"]
      })
    })
  )

  it.effect("joins instead of another connection on request, and without limits", () =>
    Effect.gen(function* () {
      const { calls, connect, scripts } = yield* makeScriptedRegistry()
      yield* scripts.join(connect("s1").session, computerIn("O"), { takeOver: true }, unlimited)
      const max = String(Number.MAX_SAFE_INTEGER)
      assert.deepStrictEqual(calls[0]?.args.slice(-4), [max, max, "1000", "1"])
    })
  )

  it.effect("looks for a Computer by its exact name and its key, and for several offices", () =>
    Effect.gen(function* () {
      const { calls, scripts } = yield* makeScriptedRegistry(({ name }) =>
        Effect.succeed(name === "areInUse" ? [1, 0] : 1)
      )
      assert.isTrue(yield* scripts.isComputerElsewhere("O", "\u00e9"))
      assert.deepStrictEqual(yield* scripts.areInUse(["O", "P"]), [true, false])
      assert.deepStrictEqual(calls, [
        { name: "isComputerElsewhere", args: ["O", "c\u00e9", "\u00e9"] },
        { name: "areInUse", args: ["O", "P"] }
      ])
    })
  )
})
