import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import { otlpLayer } from "../../../src/main/layers/otlpLayer.ts"

/** Small batches, so that many exports are due. */
const variables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.test",
  OTEL_METRICS_EXPORTER: "none",
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4"
}

describe("the export of telemetry", () => {
  it.effect("holds 32 batches for ten seconds while the collector does not respond", () =>
    Effect.gen(function* () {
      let inProgress = 0
      let most = 0
      const fetchNothing: typeof fetch = (_, init) => {
        inProgress += 1
        most = Math.max(most, inProgress)
        return new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => {
            inProgress -= 1
            reject(new Error("aborted"))
          })
        })
      }
      const telemetry = otlpLayer("test").pipe(
        Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetchNothing)),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: variables })))
      )
      yield* Effect.gen(function* () {
        for (let span = 0; span < 800; span += 1) yield* Effect.withSpan(Effect.yieldNow, `span ${span}`)
        assert.strictEqual(most, 32)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(inProgress, 0)
      }).pipe(Effect.provide(telemetry))
    })
  )
})
