import { Cause, Clock, Config, ConfigProvider, Duration, Effect, Layer, Schema } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import { formatSchemaError } from "../../domain/validation.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import { CommandFailed, failCommand } from "../cli/CommandFailed.ts"

/** How often it is said that a collector cannot be reached: it may be away for long, and nothing else suffers. */
const warningInterval = Duration.toMillis("1 minute")

/** What the specification of OpenTelemetry takes for granted, and Effect wants to be told. */
const specDefaults = ConfigProvider.layerAdd(
  ConfigProvider.fromEnv({ env: { OTEL_TRACES_EXPORTER: "otlp", OTEL_METRICS_EXPORTER: "otlp" } })
)

/** A client that says when the collector does not take what it is sent. */
const warningHttpClient = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    let quietUntil = 0
    const warnThrottled = Effect.fnUntraced(function* (reason: string) {
      const now = yield* Clock.currentTimeMillis
      if (now < quietUntil) return
      quietUntil = now + warningInterval
      yield* Effect.logWarning("traces and metrics cannot be exported", { reason })
    })
    const plain = yield* HttpClient.HttpClient
    return plain.pipe(
      HttpClient.tapError(({ message }) => warnThrottled(message)),
      HttpClient.tap(({ status }) =>
        status >= 400 ? warnThrottled(`the collector answers with ${status}`) : Effect.void
      )
    )
  })
).pipe(Layer.provide(FetchHttpClient.layer))

const serialization = Layer.unwrap(
  Effect.gen(function* () {
    const wanted = yield* Config.String("OTEL_EXPORTER_OTLP_PROTOCOL").pipe(
      Config.withDefault("http/protobuf"),
      Effect.orDie
    )
    switch (wanted) {
      case "http/protobuf":
        return OtlpSerialization.layerProtobuf
      case "http/json":
        return OtlpSerialization.layerJson
      default:
        return yield* new CommandFailed({
          message: `OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf or http/json, got ${JSON.stringify(wanted)}`
        })
    }
  })
)

/** Names the variable that cannot be read, which Effect takes for a defect. */
const explainConfigError = ({ cause, message }: Config.ConfigError) =>
  failCommand(Schema.isSchemaError(cause) ? formatSchemaError(cause) : message)

/**
 * Exports traces and metrics by OTLP over HTTP, as the variables `OTEL_…` say; what is left is sent when the layer
 * closes. The log is not exported: it goes to stderr, where its secrets have been taken out.
 */
export const otlpLayer = (service: string) => {
  const resource = { serviceName: service, serviceVersion: packageVersion }
  return Layer.mergeAll(
    OtlpTracer.layerFromConfig({ resource }),
    OtlpMetrics.layerFromConfig({ resource })
  ).pipe(
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
