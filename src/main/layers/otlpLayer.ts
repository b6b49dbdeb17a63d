import { Cause, Clock, Config, ConfigProvider, Duration, Effect, Layer, Option, Schema, Semaphore } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import { MetricsExported } from "../../adapters/mcp/mcpTelemetry.ts"
import { formatSchemaError } from "../../domain/validation.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import { failCommand } from "../CommandFailed.ts"

/** Minimum time between two warnings in milliseconds: a collector may be unreachable for long. */
const warningInterval = Duration.toMillis("1 minute")

/** Exports in progress, each with one batch. The exporter starts one for every full batch. */
const maxExports = 32

/** Timeout of an export: the default of the OpenTelemetry specification. */
const exportTimeout = Duration.seconds(10)

/** Defaults of the OpenTelemetry specification that Effect does not have. */
const specDefaults = ConfigProvider.layerAdd(
  ConfigProvider.fromEnv({ env: { OTEL_TRACES_EXPORTER: "otlp", OTEL_METRICS_EXPORTER: "otlp" } })
)

/** An HTTP client that logs failed exports, and bounds the number and the duration of exports in progress. */
const exportHttpClient = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    let quietUntil = 0
    const warnThrottled = Effect.fnUntraced(function* (reason: string) {
      const now = yield* Clock.currentTimeMillis
      if (now < quietUntil) return
      quietUntil = now + warningInterval
      yield* Effect.logWarning("telemetry export failed", { reason })
    })
    const exports = yield* Semaphore.make(maxExports)
    // A defect: the exporter would hold the batch and repeat the request after another error.
    const drop = Effect.andThen(
      warnThrottled("the collector is too slow: telemetry of one minute is dropped"),
      Effect.die(new Error("too many exports are in progress"))
    )
    const plain = yield* HttpClient.HttpClient
    return HttpClient.transform(plain, (response, request) =>
      response.pipe(
        Effect.timeoutOrElse({
          duration: exportTimeout,
          orElse: () =>
            Effect.fail(
              new HttpClientError.HttpClientError({
                reason: new HttpClientError.TransportError({ request, description: "timeout" })
              })
            )
        }),
        exports.withPermitsIfAvailable(1),
        Effect.flatMap(Option.match({ onNone: () => drop, onSome: Effect.succeed }))
      )
    ).pipe(
      HttpClient.tapError(({ message }) => warnThrottled(message)),
      HttpClient.tap(({ status }) =>
        status >= 400 ? warnThrottled(`the collector responded with HTTP ${status}`) : Effect.void
      )
    )
  })
).pipe(Layer.provide(FetchHttpClient.layer))

const serialization = Layer.unwrap(
  Effect.gen(function* () {
    const setting = Config.withDefault(Config.String("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
    const wanted = yield* Effect.orDie(setting)
    if (wanted === "http/protobuf") return OtlpSerialization.layerProtobuf
    if (wanted === "http/json") return OtlpSerialization.layerJson
    return yield* failCommand(
      `OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf or http/json, got ${JSON.stringify(wanted)}`
    )
  })
)

/** Fails with the name of the invalid variable, which Effect reports as a defect. */
const explainConfigError = ({ cause, message }: Config.ConfigError) =>
  failCommand(Schema.isSchemaError(cause) ? formatSchemaError(cause) : message)

/**
 * Exports traces and metrics by OTLP over HTTP, configured by the variables `OTEL_…`; flushes when the layer closes. The
 * log is not exported: it goes to stderr, without secrets.
 */
export const otlpLayer = (service: string) => {
  const resource = { serviceName: service, serviceVersion: packageVersion }
  const metrics = Layer.merge(OtlpMetrics.layerFromConfig({ resource }), Layer.succeed(MetricsExported, true))
  return Layer.merge(OtlpTracer.layerFromConfig({ resource }), metrics).pipe(
    Layer.catchCause((cause) => {
      const defect = Cause.squash(cause)
      return Layer.effectDiscard(
        defect instanceof Config.ConfigError ? explainConfigError(defect) : Effect.failCause(cause)
      )
    }),
    Layer.provide(exportHttpClient),
    Layer.provide(serialization),
    Layer.provide(specDefaults)
  )
}
