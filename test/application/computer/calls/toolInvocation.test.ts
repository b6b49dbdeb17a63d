import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as VerelEngine from "../../../../src/adapters/vrl/VerelEngine.ts"
import { transformResult } from "../../../../src/application/computer/calls/toolInvocation.ts"
import { VrlEngine, VrlError } from "../../../../src/application/ports/VrlEngine.ts"
import type { ToolResult } from "../../../../src/domain/model/ToolResult.ts"

const result: ToolResult = {
  content: [{ type: "text", text: "hi", _meta: { own: 1 } }],
  isError: false,
  structuredContent: { n: 1 },
  meta: { k: 1 }
}
const call = { tool: "read_file", params: { path: "/tmp" } }

layer(VerelEngine.layer())("transformResult with Verel", (it) => {
  it.effect("case 144: adds the event to an otherwise unchanged result", () =>
    Effect.gen(function* () {
      const { meta, ...rest } = yield* transformResult(yield* VrlEngine, ".processed = true", result, call)
      const { a2c_vrl_transformed: text, ...others } = meta ?? {}
      const { meta: own, ...printed } = result
      assert.deepStrictEqual(rest, printed)
      assert.deepStrictEqual(others, own)
      assert.deepStrictEqual(typeof text === "string" && JSON.parse(text), {
        ...result,
        processed: true,
        tool_name: "read_file",
        parameters: { path: "/tmp" }
      })
    })
  )

  it.effect("case 145: returns the unchanged result when the script fails", () =>
    Effect.gen(function* () {
      const script = ".n = to_int!(.content[0].text)"
      assert.strictEqual(yield* transformResult(yield* VrlEngine, script, result, call), result)
    })
  )

  it.effect("applies changes of the content to the event alone", () =>
    Effect.gen(function* () {
      const { content, meta } = yield* transformResult(yield* VrlEngine, "del(.content)\n.meta = 1", result, call)
      assert.deepStrictEqual(content, result.content)
      assert.strictEqual(meta?.["k"], 1)
    })
  )
})

describe("transformResult", () => {
  it.effect("logs a failure with the tool and the reason", () => {
    const lines: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => void lines.push([logLevel, message]))
    const engine = VrlEngine.of({
      check: () => Effect.undefined,
      run: () => Effect.fail(new VrlError({ reason: "missing", message: "npm install it" }))
    })
    return Effect.gen(function* () {
      assert.strictEqual(yield* transformResult(engine, ".a = 1", result, call), result)
      assert.deepStrictEqual(lines, [
        ["Warn", ["VRL transform failed", { tool: "read_file", reason: "missing", message: "npm install it" }]]
      ])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
