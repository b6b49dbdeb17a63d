import { Cause, Clock, Config, ConfigProvider, Duration, Effect, Layer, Schema } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import { formatSchemaError } from "../../domain/validation.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import { failCommand } from "../cli/CommandFailed.ts"

/** Minimum time between two warnings in milliseconds: a collector may be unreachable for long. */
const warningInterval = Duration.toMillis("1 minute")

/** Defaults of the OpenTelemetry specification that Effect does not have. */
const specDefaults = ConfigProvider.layerAdd(
  ConfigProvider.fromEnv({ env: { OTEL_TRACES_EXPORTER: "otlp", OTEL_METRICS_EXPORTER: "otlp" } })
)

const warningHttpClient = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    let quietUntil = 0
    const warnThrottled = Effect.fnUntraced(function* (reason: string) {
      const now = yield* Clock.currentTimeMillis
      if (now < quietUntil) return
      quietUntil = now + warningInterval
      yield* Effect.logWarning("telemetry export failed", { reason })
    })
    const plain = yield* HttpClient.HttpClient
    return plain.pipe(
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
    switch (wanted) {
      case "http/protobuf":
        return OtlpSerialization.layerProtobuf
      case "http/json":
        return OtlpSerialization.layerJson
      default:
        return yield* failCommand(
          `OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf or http/json, got ${JSON.stringify(wanted)}`
        )
    }
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
  return Layer.mergeAll(OtlpTracer.layerFromConfig({ resource }), OtlpMetrics.layerFromConfig({ resource })).pipe(
    Layer.catchCause((cause) => {
      const defect = Cause.squash(cause)
      return Layer.effectDiscard(
        defect instanceof Config.ConfigError ? explainConfigError(defect) : Effect.failCause(cause)
      )
    }),
    Layer.provide(warningHttpClient),
    Layer.provide(serialization),
    Layer.provide(specDefaults)
  )
}
