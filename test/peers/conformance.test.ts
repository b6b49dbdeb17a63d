import { createRequire } from "node:module"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { publishHttp } from "../../src/adapters/mcp/publish/http/publishHttp.ts"
import { openConformance } from "../fixtures/conformanceServer.ts"

const require = createRequire(import.meta.url)
const suite = require.resolve("@modelcontextprotocol/conformance/dist/index.js")

const passed = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-error",
  "tools-call-with-progress",
  "tools-call-elicitation",
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "json-schema-2020-12",
  "server-sse-multiple-streams",
  "resources-list",
  "resources-read-text",
  "resources-read-binary",
  "resources-templates-read",
  "resources-subscribe",
  "resources-unsubscribe",
  "dns-rebinding-protection"
]

/** Inapplicable scenarios and the reason. */
const inapplicable = {
  "logging-set-level": "a session has no log for its clients",
  "tools-call-with-logging": "a session has no log for its clients",
  "completion-complete": "a session completes nothing: it has no prompts and no templates",
  "tools-call-sampling": "a session asks its clients for nothing",
  "server-sse-polling": "the call of a client that is gone is interrupted, its answer is not kept",
  "prompts-list": "a session has no prompts",
  "prompts-get-simple": "a session has no prompts",
  "prompts-get-with-args": "a session has no prompts",
  "prompts-get-embedded-resource": "a session has no prompts",
  "prompts-get-with-image": "a session has no prompts"
}

/** The summary line of every scenario. */
class Summary extends Context.Service<Summary, ReadonlyMap<string, string>>()("test/Summary") {}

const summary = Effect.gen(function* () {
  const { url } = yield* publishHttp(yield* openConformance, { port: 0, token: "allowAll" })
  const child = yield* ChildProcess.make(process.execPath, [suite, "server", "--url", url, "--suite", "all"], {
    extendEnv: true
  })
  const lines = yield* child.stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.runCollect)
  return new Map(
    lines.flatMap((line) => {
      const [, name] = /^[✓✗] ([\w-]+): \d+ passed, \d+ failed$/.exec(line) ?? []
      return name === undefined ? [] : [[name, line] as const]
    })
  )
}).pipe(Effect.scoped, Effect.orDie)

layer(Layer.effect(Summary, summary).pipe(Layer.provide(NodeServices.layer)), { excludeTestServices: true })(
  "MCP's conformance suite against a published session",
  (it) => {
    for (const scenario of passed) {
      it.effect(`passes ${scenario}`, () =>
        Effect.gen(function* () {
          const line = (yield* Summary).get(scenario) ?? "was not run"
          assert.match(line, /^✓ .* [1-9]\d* passed, 0 failed$/)
        })
      )
    }
    it.effect("leaves no scenario that neither passes nor is inapplicable", () =>
      Effect.gen(function* () {
        const known = [...passed, ...Object.keys(inapplicable)].sort()
        assert.deepStrictEqual([...(yield* Summary).keys()].sort(), known)
      })
    )
  }
)
