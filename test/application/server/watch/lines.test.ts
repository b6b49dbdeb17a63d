import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeCluster } from "../../../../src/adapters/memory/MemoryCluster.ts"
import { lineNamed, lineNames } from "../../../../src/domain/wire/lines.ts"
import { formatVersion } from "../../../../src/domain/wire/version.ts"
import { elapse, makeCall, olga, openStream, startWatched, toolResult } from "./watchedServer.ts"
import { partsOf } from "../../../page/scripted/snapshotParts.ts"

describe("an office of a line", () => {
  it.effect.each(lineNames.flatMap((line) => ["one", "two"].map((node) => [line, node] as const)))(
    "%s is shown by its id and its line, at node %s",
    ([line, node]) =>
      Effect.gen(function* () {
        const cluster = makeCluster()
        const one = yield* startWatched({ cluster, name: "one" })
        const two = yield* startWatched({ cluster, name: "two" })
        const stream = yield* openStream(two)
        const version = formatVersion(lineNamed(line).version)
        // The Agent is at the first node, and the Computer at the one of the row.
        const server = node === "one" ? one : two
        yield* elapse("2 seconds")
        const computer = yield* server.computer("pc", { version, answer: () => Effect.succeed(toolResult("done")) })
        const agent = yield* one.agent("ada", { version })
        yield* makeCall(agent)
        yield* computer.notify("server:update_desktop", { computer: "pc" })
        yield* elapse("2 seconds")
        const shown = [
          ...stream.tagged("Entered").map(({ member }) => ["Entered", member.line, member.office, member.node]),
          ...stream.tagged("Call").map(({ call }) => ["Call", call.line, call.office, call.node]),
          ...stream.tagged("Updated").map((update) => ["Updated", update.line, update.office, update.computer])
        ]
        assert.sameDeepMembers(shown, [
          ["Entered", line, "O", node],
          ["Entered", line, "O", "one"],
          ["Call", line, "O", "one"],
          ["Updated", line, "O", "pc"]
        ])
        const { snapshot } = yield* one.watch.open
        assert.deepInclude(partsOf(snapshot).members.at(-1), { line, office: "O", version })
        yield* agent.close
        yield* elapse()
        yield* one.watch.execute({ _tag: "Disconnect", sid: computer.sid }, olga)
        assert.deepInclude((yield* server.operatorActions)[0], { line, office: "O", name: "pc" })
      })
  )
})
