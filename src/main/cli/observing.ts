import { Config, ConfigProvider, Effect, Layer, Option, References } from "effect"
import { Command, Flag, GlobalFlag } from "effect/cli"
import { LogFormat } from "../../adapters/node/TerminalLog.ts"
import { CommandFailed } from "../failure.ts"

const logFormat = GlobalFlag.Setting("log-format")({
  flag: Flag.Literals("log-format", ["human", "json"]).pipe(
    Flag.withDescription("write the log for people, or as a JSON object per line [env A2C_LOG_FORMAT]"),
    Flag.withFallbackConfig(Config.Literals(["human", "json"], "A2C_LOG_FORMAT")),
    Flag.withDefault("human")
  )
})

const otlp = GlobalFlag.Setting("otlp")({
  flag: Flag.String("otlp").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription(
      "send traces and metrics to this OpenTelemetry collector, as http://127.0.0.1:4318 " +
        "[env OTEL_EXPORTER_OTLP_ENDPOINT]"
    ),
    Flag.filter(
      (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""),
      () => "a URL like http://127.0.0.1:4318"
    ),
    Flag.optional
  )
})

/** Levels as the flag `--log-level` spells them. */
const levels = {
  all: "All",
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  warning: "Warn",
  error: "Error",
  fatal: "Fatal",
  none: "None"
} as const

const isLevel = (text: string): text is keyof typeof levels => Object.hasOwn(levels, text)

/** The level of the environment counts where the command line names none. */
const level = Layer.unwrap(
  Effect.gen(function* () {
    const given = yield* GlobalFlag.LogLevel
    const wanted = yield* Effect.orDie(Config.option(Config.String("A2C_LOG_LEVEL")))
    if (Option.isSome(given) || Option.isNone(wanted)) return Layer.empty
    const text = wanted.value.toLowerCase()
    return isLevel(text)
      ? Layer.succeed(References.MinimumLogLevel, levels[text])
      : yield* new CommandFailed({
          message: `A2C_LOG_LEVEL: expected ${Object.keys(levels).join("|")}, got ${JSON.stringify(wanted.value)}`
        })
  })
)

const format = Layer.effect(
  LogFormat,
  Effect.map(logFormat, (wanted) => wanted)
)

/** The same commands with a log as `--log-format`, `--log-level` and the environment want it. */
export const logging = <Name extends string, Input, E, R, Context>(
  command: Command.Command<Name, Input, Context, E, R>
) =>
  command.pipe(
    Command.provide(Layer.merge(level, format)),
    Command.withGlobalFlags([logFormat, GlobalFlag.LogLevel])
  )

/** Where a collector is, by the flag or by what the OpenTelemetry specification calls the variables. */
const endpoints = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
]

/** Traces and metrics of a program of this name, if anybody wants them. Its modules are loaded only then. */
const telemetry = (service: string) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const given = yield* otlp
      const set = yield* Effect.forEach(endpoints, (name) => Effect.orDie(Config.option(Config.String(name))))
      if (Option.isNone(given) && set.every((one) => Option.isNone(one) || one.value === "")) {
        return Layer.empty
      }
      const { exporting } = yield* Effect.promise(() => import("../telemetry.ts"))
      const exporter = exporting(service)
      return Option.isNone(given)
        ? exporter
        : Layer.provide(
            exporter,
            ConfigProvider.layerAdd(
              ConfigProvider.fromEnv({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: given.value } }),
              { asPrimary: true }
            )
          )
    })
  )

/** The same command with `--otlp`: it exports traces and metrics as a program of this name. */
export const observed =
  (service: string) =>
  <Name extends string, Input, E, R, Context>(command: Command.Command<Name, Input, Context, E, R>) =>
    command.pipe(Command.provide(telemetry(service)), Command.withGlobalFlags([otlp]))
