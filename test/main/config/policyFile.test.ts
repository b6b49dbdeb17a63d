import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Logger, Schedule } from "effect"
import { Policy } from "../../../src/application/ports/approvals/Policy.ts"
import { policyCall as call } from "../../domain/policy/policyCall.ts"
import { policyOfFile } from "../../../src/main/config/policyFile.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

/** Writes a policy file in a temporary folder. */
const policyFile = Effect.fnUntraced(function* (text: string) {
  const folder = yield* temporaryFolder
  const file = join(folder, "policy.yaml")
  writeFileSync(file, text)
  return file
})

const errorOf = (text: string) =>
  Effect.gen(function* () {
    const file = yield* policyFile(text)
    const { message } = yield* Effect.flip(policyOfFile(file))
    return message.replaceAll(file, "policy.yaml")
  })

describe("policyOfFile", () => {
  layer(NodeServices.layer, { excludeTestServices: true })((it) => {
    it.effect("decides by the rules of YAML and of JSON", () =>
      Effect.gen(function* () {
        for (const text of [
          "rules:\n  - action: deny\n    tool: [write]\n",
          '{"rules":[{"action":"deny","tool":"write"}]}'
        ]) {
          const policy =
            Context.get(yield* Layer.build(yield* policyOfFile(yield* policyFile(text))), Policy) ?? assert.fail()
          assert.strictEqual((yield* policy.decide(call))?.action, "deny")
          assert.isUndefined(yield* policy.decide({ ...call, tool: "read", shortName: "read", originalName: "read" }))
        }
      })
    )

    it.effect("reports the place of an error", () =>
      Effect.gen(function* () {
        assert.match(
          yield* errorOf("rules:\n  - action: allow\n    tools: write\n"),
          /^policy\.yaml:3:5: error: rules\[0\]\.tools: /
        )
        assert.match(
          yield* errorOf("rules:\n  - action: deny\n  - action: perhaps\n"),
          /^policy\.yaml:3:5: error: rules\[1\]\.action: /
        )
        assert.match(yield* errorOf("rules: ["), /^policy\.yaml:1:\d+: error: invalid YAML/)
      })
    )

    it.effect("reports a missing file", () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(policyOfFile("missing/policy.yaml"))
        assert.strictEqual(message, "missing/policy.yaml: error: file not found")
      })
    )

    it.effect("applies changes of the file, and keeps the rules while it is invalid", () =>
      Effect.gen(function* () {
        const file = yield* policyFile("rules: [{action: allow}]")
        const rejected = yield* Deferred.make<void>()
        const logger = Logger.make<unknown, void>(({ message }) => {
          if (String(message).includes("policy not reloaded")) Deferred.doneUnsafe(rejected, Effect.void)
        })
        const built = Layer.build(yield* policyOfFile(file)).pipe(Effect.provide(Logger.layer([logger])))
        const policy = Context.get(yield* built, Policy) ?? assert.fail()
        /** Resolves once the policy decides like this. */
        const decides = (action: string) =>
          Effect.repeat(
            Effect.map(policy.decide(call), (decision) => decision?.action),
            { until: (decided) => decided === action, schedule: Schedule.spaced("20 millis") }
          ).pipe(Effect.timeout("30 seconds"))
        yield* decides("allow")
        writeFileSync(file, "rules: [{action: deny}]")
        yield* decides("deny")
        writeFileSync(file, "rules: [{action: perhaps}]")
        yield* Effect.timeout(Deferred.await(rejected), "30 seconds")
        yield* decides("deny")
        writeFileSync(file, "rules: [{action: ask}]")
        yield* decides("ask")
      })
    )
  })
})
