import { Config, ConfigProvider, Effect, Layer, Option, References } from "effect"
import { Command, Flag, GlobalFlag } from "effect/cli"
import { LogFormat } from "../../../adapters/log/TerminalLog.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import { checkUrl } from "./secretFlags.ts"
import { setting } from "./setting.ts"

const logFormatFlag = GlobalFlag.Setting("log-format")({
  flag: setting.choice(
    "log-format",
    "format of the log: text for people, or one JSON object per line",
    ["human", "json"],
    { default: "human" }
  )
})

export const otlpFlag = GlobalFlag.Setting("otlp")({
  flag: Flag.String("otlp").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription(
      "export traces and metrics to this OpenTelemetry collector, as http://127.0.0.1:4318 " +
        "[env OTEL_EXPORTER_OTLP_ENDPOINT]"
    ),
    Flag.mapEffect(checkUrl("--otlp")),
    Flag.optional
  )
})

/** Sets the log level of `A2C_LOG_LEVEL`, unless `--log-level` is given. */
const logLevelLayer = Layer.unwrap(
  Effect.gen(function* () {
    const given = yield* GlobalFlag.LogLevel
    const wanted = yield* Effect.orDie(Config.option(Config.String("A2C_LOG_LEVEL")))
    if (Option.isSome(given) || Option.isNone(wanted)) return Layer.empty
    const words = { flags: { "log-level": [wanted.value.toLowerCase()] }, arguments: [] }
    const [, level] = yield* Effect.mapError(GlobalFlag.LogLevel.flag.parse(words), (error) => {
      const expected = error._tag === "InvalidValue" ? error.expected.replaceAll(/[" ]/g, "") : "a log level"
      return new CommandFailed({ message: `A2C_LOG_LEVEL: expected ${expected}, got ${JSON.stringify(wanted.value)}` })
    })
    return Option.isNone(level) ? Layer.empty : Layer.succeed(References.MinimumLogLevel, level.value)
  })
)

export const loggingFlags = [logFormatFlag, GlobalFlag.LogLevel] as const

/** The log level and format by `--log-level`, `--log-format` and their variables. */
export const loggingLayer = Layer.merge(logLevelLayer, Layer.effect(LogFormat, logFormatFlag))

/** Variables of the OpenTelemetry specification; any of them enables the export. */
const otlpEndpointVariables = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
]

/** Exports traces and metrics when a collector is configured; loads the exporter only then. */
const telemetryLayer = (service: string) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const given = yield* otlpFlag
      const set = yield* Effect.forEach(otlpEndpointVariables, (name) =>
        Effect.orDie(Config.withDefault(Config.String(name), ""))
      )
      if (Option.isNone(given) && set.every((endpoint) => endpoint === "")) return Layer.empty
      const { otlpLayer } = yield* Effect.promise(() => import("../../layers/otlpLayer.ts"))
      const exporter = otlpLayer(service)
      if (Option.isNone(given)) return exporter
      const settings = ConfigProvider.fromEnv({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: given.value } })
      return Layer.provide(exporter, ConfigProvider.layerAdd(settings, { asPrimary: true }))
    })
  )

/** Adds `--otlp` to a command; `service` is the service name of its traces and metrics. */
export const withTelemetry =
  (service: string) =>
  <Name extends string, Input, E, R, Context>(command: Command.Command<Name, Input, Context, E, R>) =>
    command.pipe(Command.provide(telemetryLayer(service)), Command.withGlobalFlags([otlpFlag]))
