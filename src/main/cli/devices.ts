import { Config, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { usualGatewayLimits } from "../../application/devices/DeviceLimits.ts"
import {
  approve,
  computerName,
  configFiles,
  count,
  inputValues,
  listenHost,
  listenPort,
  mcpToken,
  seconds,
  watch
} from "./flags.ts"

/** Where devices are expected unless told otherwise. */
const usualPort = 7071

const token = Flag.Redacted("token").pipe(
  Flag.withDescription("what a device must show; better by [env A2C_DEVICES_TOKEN]"),
  Flag.withFallbackConfig(Config.Redacted("A2C_DEVICES_TOKEN")),
  Flag.optional
)

const gateway = Command.make(
  "gateway",
  {
    tcp: listenPort(
      "tcp",
      `port on which devices connect, 0 for a free one [env A2C_DEVICES_TCP; default: ${usualPort}]`
    ).pipe(Flag.withFallbackConfig(Config.Int("A2C_DEVICES_TCP")), Flag.withDefault(usualPort)),
    host: listenHost,
    token,
    tokens: Flag.String("tokens").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription('a token for each device: {"lamp": "…"} names each and lets nobody else in'),
      Flag.optional
    ),
    stdio: Flag.Boolean("stdio").pipe(
      Flag.withDescription("publish the devices as an MCP server over stdio"),
      Flag.withDefault(false)
    ),
    http: Flag.optional(
      listenPort("http", "publish the devices as an MCP server over Streamable HTTP, 0 for a free port")
    ),
    mcpToken: mcpToken("mcp-token"),
    acknowledge: Flag.Boolean("acknowledge").pipe(
      Flag.withDescription("tell devices what became of their registration; they must know such a message"),
      Flag.withDefault(false)
    ),
    mostDevices: count("max-devices", 65_535, usualGatewayLimits.mostDevices, "connections at once"),
    mostServices: count("max-services", 10_000, usualGatewayLimits.mostServices, "services of one device"),
    mostCalls: count("max-calls", 10_000, usualGatewayLimits.mostCalls, "calls of one device at once"),
    largest: count("max-payload", 64 * 1024 * 1024, usualGatewayLimits.largest, "bytes of one message"),
    callTimeout: seconds("timeout", usualGatewayLimits.callTimeout, "how long a call may take"),
    idleTime: seconds(
      "idle",
      usualGatewayLimits.idleTime,
      "a device that is silent for so long is gone; `a2c devices connect` speaks once a minute"
    )
  },
  Effect.fn(function* (options) {
    const { runGateway } = yield* Effect.promise(() => import("../commands/deviceGateway.ts"))
    return yield* runGateway(options)
  })
).pipe(
  Command.withDescription("Let devices connect over TCP and register services, and offer these as MCP tools"),
  Command.withExamples([
    {
      command: "a2c devices gateway --http 7080",
      description: "Devices at port 7071, their tools at http://127.0.0.1:7080/mcp"
    },
    {
      command: "a2c devices gateway --tcp 7071 --stdio",
      description: "What a Computer's configuration starts as one of its MCP servers"
    }
  ])
)

/** `HOST:PORT`, where the host may be an IPv6 address in brackets. */
const readPlace = (text: string): Option.Option<{ readonly host: string; readonly port: number }> => {
  const [, bracketed, plain, digits = ""] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? Option.none() : Option.some({ host, port })
}

const connect = Command.make(
  "connect",
  {
    to: Flag.String("to").pipe(
      Flag.withMetavar("HOST:PORT"),
      Flag.withDescription("where the device server is [env A2C_DEVICES_TO]"),
      Flag.withFallbackConfig(Config.String("A2C_DEVICES_TO")),
      Flag.filterMap(readPlace, () => "a place like 127.0.0.1:7071")
    ),
    name: computerName.pipe(
      Flag.withDescription("name to go by at the device server [env A2C_NAME; default: the host's name]")
    ),
    token,
    config: configFiles,
    input: inputValues,
    watch,
    approve
  },
  Effect.fn(function* (options) {
    const { runDevice } = yield* Effect.promise(() => import("../commands/deviceClient.ts"))
    return yield* runDevice(options)
  })
).pipe(
  Command.withDescription("Be a device: register the tools of MCP servers as services of a device server"),
  Command.withExamples([
    {
      command: "a2c devices connect --to 127.0.0.1:7071 --name desk --config mcp.json --approve '*'",
      description: "Offer all tools of mcp.json to the gateway on this machine"
    }
  ])
)

/** `a2c devices`. */
export const devices = Command.make("devices").pipe(
  Command.withDescription("Devices of the AI降临派 TCP protocol: take them in, or be one"),
  Command.withSubcommands([gateway, connect])
)
