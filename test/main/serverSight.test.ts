import { existsSync, readFileSync, statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { Agent } from "../../src/application/agent/Agent.ts"
import { metricDefinitions, metricPrefix } from "../../src/application/server/observability/ServerMetrics.ts"
import { agentLayer } from "../../src/main/layers/agentLayer.ts"
import { parsePrometheus } from "../prometheus.ts"
import { makeVictim } from "../adapters/http/victim.ts"
import { act, compute, echo, stop } from "./collector.ts"
import { until } from "./nodes.ts"
import { cli, node, program, run, startServer, temporaryFile, urlOf } from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { fetchText } from "../fetchText.ts"

const jsonLines = (text: string): ReadonlyArray<Record<string, unknown>> =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** The metrics that a healthy single Server lacks, and when a Server has them. */
const conditionalMetrics: { readonly [name in keyof typeof metricDefinitions]?: string } = {
  audit_events_dropped_total: "with --audit",
  connections_rejected_total: "after the first rejected connection",
  dropped_total: "after the first dropped message",
  joins_rejected_total: "after the first rejected join",
  limit_rejections_total: "after the first request beyond a limit"
}

describe("a2c server observability", () => {
  it.live("shows its load in metrics and status", () =>
    Effect.gen(function* () {
      const { process: serving, url } = yield* startServer()
      yield* compute(url)
      const calls = yield* Effect.forEach([1, 2, 3], (n) => act(url, [...echo(`n${n}`), "--name", `a${n}`]))
      const failed = yield* act(url, ["call", "echo"])
      const codes = [...calls, failed].map(({ code }) => code)
      assert.deepStrictEqual(codes, [0, 0, 0, 2])

      const samples = parsePrometheus(yield* fetchText(`${url}/metrics`))
      const called = (outcome: string) => samples.get(`a2c_calls_total{event="client:tool_call",outcome="${outcome}"}`)
      assert.deepStrictEqual([called("ok"), called("tool_error")], [3, 1])
      assert.strictEqual(samples.get('a2c_call_duration_seconds_count{event="client:tool_call"}'), 4)
      assert.strictEqual(samples.get('a2c_joins_total{role="agent"}'), 4)
      assert.strictEqual(samples.get('a2c_members{role="computer"}'), 1)
      assert.strictEqual(samples.get("a2c_calls_in_flight"), 0)

      const status = yield* run("server", "status", url, "--offices")
      assert.strictEqual(status.code, 0)
      for (const line of [
        /^state +ready$/m,
        /^members +no Agent, 1 Computer$/m,
        /^outcomes +.*tool_error 1/m,
        /^call time with waits +p50 [\d.]+ m?s, p90/m,
        /^team +0\.2 +no Agent +1 Computer$/m
      ]) {
        assert.match(status.stdout, line)
      }

      const watching = yield* node([cli, "server", "status", url, "--watch"])
      yield* watching.prints("1 office ", "stdout", 2)
      yield* serving.signal("SIGTERM")
      yield* watching.prints("cannot be reached", "stderr")
      yield* watching.signal("SIGINT")
      assert.strictEqual(yield* watching.ended, 130)
    })
  )

  it.live("serves every metric, except those of an audit or a failure", () =>
    Effect.gen(function* () {
      const { url } = yield* startServer()
      yield* compute(url)
      assert.strictEqual((yield* act(url, echo("hi"))).code, 0)
      const metrics = Effect.map(
        fetchText(`${url}/metrics`),
        (text) =>
          new Set(
            [...parsePrometheus(text).keys()].map((series) => /^\w+?(?=_bucket|_sum|_count|{|$)/.exec(series)?.[0])
          )
      )
      const served = yield* until(metrics, (names) => names.has(`${metricPrefix}leaves_total`))
      assert.sameMembers(
        Object.keys(metricDefinitions).filter((name) => !served.has(metricPrefix + name)),
        Object.keys(conditionalMetrics)
      )
    })
  )

  it.live("serves complete and increasing metrics under load", () =>
    Effect.gen(function* () {
      const { url } = yield* startServer()
      yield* compute(url)
      const context = yield* Layer.build(agentLayer({ url, office: "team", name: "busy" }))
      const { callTool } = Context.get(context, Agent)
      const calling = callTool({ computer: "desk", tool: "echo", params: { message: "x".repeat(1000) } })
      yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => Effect.forkScoped(Effect.forever(Effect.ignore(calling))),
        { discard: true }
      )
      const read = Effect.map(fetchText(`${url}/metrics`), (text) => {
        const samples = parsePrometheus(text)
        const of = (name: string) => samples.get(name) ?? 0
        const calls = of('a2c_calls_total{event="client:tool_call",outcome="ok"}')
        const latencies = of('a2c_call_duration_seconds_count{event="client:tool_call"}')
        return { calls, latencies, pending: of("a2c_calls_in_flight") }
      })
      let last = yield* until(read, ({ calls }) => calls > 0)
      for (let round = 0; round < 5; round++) {
        const { calls: before } = last
        last = yield* until(read, ({ calls }) => calls > before)
        assert.strictEqual(last.latencies, last.calls)
        assert.isAtMost(last.pending, 8)
      }
      const status = JSON.parse(yield* fetchText(`${url}/status`)) as { recent: { perSecond: number } }
      assert.isAbove(status.recent.perSecond, 1)
    })
  )

  it.live("reports problems in status, and exits with 1", () =>
    Effect.gen(function* () {
      const { url: other } = yield* makeVictim()
      const token = yield* temporaryFile("token", "two words\n")
      for (const [args, words] of [
        [["http://127.0.0.1:9"], /^a2c: The Server at http:\/\/127\.0\.0\.1:9 cannot be reached: \w/],
        [[other], /^a2c: The response of .* is not from an A2C Server/],
        [["nonsense"], /^a2c: "nonsense" is not the URL of a Server/],
        [[other, "--token-file", token], /^a2c: .*token must hold a token and nothing else/],
        [[other, "--token-file", "/nowhere/token"], /^a2c: the token file \/nowhere\/token does not exist/]
      ] as const) {
        const { code, stderr } = yield* run("server", "status", ...args)
        assert.strictEqual(code, 1)
        assert.match(stderr, words)
        assert.notInclude(stderr, "two words")
      }
    })
  )

  it.live("logs JSON when the environment requests it, for all long-running commands", () =>
    Effect.gen(function* () {
      const variables = { A2C_LOG_FORMAT: "json", A2C_LOG_LEVEL: "debug" }
      const { process: serving, url } = yield* startServer([], variables)
      const desk = yield* compute(url, variables)
      yield* act(url, echo("hi"))
      yield* stop(desk)
      yield* stop(serving)
      for (const process of [serving, desk]) {
        const lines = jsonLines(process.stderr())
        for (const line of lines) {
          assert.isTrue(["time", "level", "message", "annotations"].every((name) => name in line))
        }
        assert.isTrue(lines.some(({ level }) => level === "DEBUG"))
      }
      const member = { office: "team", role: "computer", name: "desk" }
      for (const change of ["joined", "left"]) {
        const logged = jsonLines(serving.stderr()).filter(({ message }) => message === change)
        const ofDesk = logged.find(({ annotations }) => JSON.stringify(annotations).includes('"desk"'))
        assert.deepInclude(ofDesk?.["annotations"], member, change)
      }
    })
  )

  it.live("prefers log flags to the environment, and rejects an unknown level", () =>
    Effect.gen(function* () {
      const variables = { A2C_LOG_FORMAT: "json", A2C_LOG_LEVEL: "debug" }
      const { process: serving, url } = yield* startServer(["--log-format", "human", "--log-level", "error"], variables)
      yield* act(url, ["members"])
      yield* stop(serving)
      assert.strictEqual(serving.stderr(), "")
      const wrong = yield* node([cli, "server", "--port", "0"], { A2C_LOG_LEVEL: "loud" })
      assert.strictEqual(yield* wrong.ended, 1)
      assert.match(wrong.stderr(), /^a2c: A2C_LOG_LEVEL: expected all\|trace/)
    })
  )

  it.live("writes a complete audit without arguments until the Server has ended", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "audit.jsonl")
      const { process: serving, url } = yield* startServer(["--audit", file])
      const desk = yield* compute(url)
      yield* act(url, [...echo("sesame"), "--name", "ada"])
      yield* stop(desk)
      yield* stop(serving, "SIGTERM")
      assert.isTrue(existsSync(file))
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      const text = readFileSync(file, "utf8")
      assert.notInclude(text, "sesame")
      const lines = jsonLines(text)
      const call = lines.find(({ event }) => event === "client:tool_call")
      assert.deepInclude(call, {
        office: "team",
        agent: "ada",
        computer: "desk",
        tool: "echo",
        outcome: "ok"
      })
      assert.match(String(call?.["args_sha256"]), /^[0-9a-f]{64}$/)
      const entries = lines.filter(({ type }) => type !== "call").map(({ name, type }) => [type, name])
      assert.deepStrictEqual(entries, [
        ["join", "desk"],
        ["join", "ada"],
        ["leave", "ada"],
        ["leave", "desk"]
      ])
    })
  )

  it.live("logs that no file descriptor is left, and accepts members again afterwards", () =>
    Effect.gen(function* () {
      const limited = ["-c", 'ulimit -n 128 && exec "$0" "$@"', process.execPath, cli, "server", "--port", "0"]
      const serving = yield* program("/bin/sh", limited)
      const url = yield* urlOf(serving)
      const sockets = Array.from({ length: 200 }, () => connect(Number(new URL(url).port), "127.0.0.1"))
      yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
      // Those beyond the limit are reset.
      for (const socket of sockets) socket.on("error", () => undefined)
      assert.include(yield* serving.prints("accept failed", "stderr"), "too many open files")
      for (const socket of sockets) socket.destroy()
      const health = yield* until(
        Effect.option(Effect.tryPromise(async () => (await fetch(`${url}/healthz`)).text())),
        Option.isSome
      )
      assert.deepStrictEqual(health, Option.some("ok\n"))
    })
  )

  it.live("does not start when the audit cannot be written", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run("server", "--port", "0", "--audit", "/nowhere/audit.jsonl")
      assert.strictEqual(code, 1)
      assert.match(stderr, /^a2c: The audit \/nowhere\/audit\.jsonl cannot be written/)
    })
  )
})

describe("OpenTelemetry", () => {
  it.live("logs one warning when there is no collector", () =>
    Effect.gen(function* () {
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_BSP_SCHEDULE_DELAY: "100" }
      const { process: serving, url } = yield* startServer([], variables)
      yield* act(url, ["members"])
      yield* act(url, ["tools"], variables)
      assert.strictEqual((yield* act(url, ["members"])).code, 0)
      const complaints = () => serving.stderr().split("telemetry export failed").length - 1
      yield* act(url, ["call", "nothing", "--computer", "absent"])
      yield* until(Effect.sync(complaints), (count) => count === 1)
    })
  )
})
