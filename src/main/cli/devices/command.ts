import { Config, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { defaultGatewayLimits } from "../../../application/devices/DeviceLimits.ts"
import {
  approve,
  computerName,
  configFiles,
  positiveIntFlag,
  inputValues,
  listenHost,
  portFlag,
  mcpTokenFlag,
  requirePort,
  secondsFlag,
  watch
} from "../sharedFlags.ts"

/** Where devices are expected unless told otherwise. */
const defaultPort = 7071

const deviceTokenFlag = Flag.Redacted("token").pipe(
  Flag.withDescription("what a device must show; better by [env A2C_DEVICES_TOKEN]"),
  Flag.withFallbackConfig(Config.Redacted("A2C_DEVICES_TOKEN")),
  Flag.optional
)

const gatewayCommand = Command.make(
  "gateway",
  {
    tcp: portFlag(
      "tcp",
      `port on which devices connect, 0 for a free one [env A2C_DEVICES_TCP; default: ${defaultPort}]`
    ).pipe(
      Flag.withFallbackConfig(Config.Int("A2C_DEVICES_TCP")),
      requirePort,
      Flag.withDefault(defaultPort)
    ),
    host: listenHost,
    token: deviceTokenFlag,
    tokens: Flag.String("tokens").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription('a token for each device: {"lamp": "…"} names each and lets nobody else in'),
      Flag.optional
    ),
    stdio: Flag.Boolean("stdio").pipe(
      Flag.withDescription("publish the devices as an MCP server over stdio"),
      Flag.withDefault(false)
    ),
    http: portFlag(
      "http",
      "publish the devices as an MCP server over Streamable HTTP, 0 for a free port"
    ).pipe(requirePort, Flag.optional),
    mcpToken: mcpTokenFlag("mcp-token"),
    acknowledge: Flag.Boolean("acknowledge").pipe(
      Flag.withDescription("tell devices what became of their registration; they must know such a message"),
      Flag.withDefault(false)
    ),
    maxDevices: positiveIntFlag(
      "max-devices",
      65_535,
      defaultGatewayLimits.maxDevices,
      "connections at once"
    ),
    maxServices: positiveIntFlag(
      "max-services",
      10_000,
      defaultGatewayLimits.maxServices,
      "services of one device"
    ),
    maxCalls: positiveIntFlag(
      "max-calls",
      10_000,
      defaultGatewayLimits.maxCalls,
      "calls of one device at once"
    ),
    maxPayloadBytes: positiveIntFlag(
      "max-payload",
      64 * 1024 * 1024,
      defaultGatewayLimits.maxPayloadBytes,
      "bytes of one message"
    ),
    callTimeout: secondsFlag("timeout", defaultGatewayLimits.callTimeout, "how long a call may take"),
    idleTimeout: secondsFlag(
      "idle",
      defaultGatewayLimits.idleTimeout,
      "a device that is silent for so long is gone; `a2c devices connect` speaks once a minute"
    )
  },
  Effect.fn(function* (options) {
    const { runGateway } = yield* Effect.promise(() => import("./runGateway.ts"))
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
const parseHostPort = (text: string): Option.Option<{ readonly host: string; readonly port: number }> => {
  const [, bracketed, plain, digits = ""] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? Option.none() : Option.some({ host, port })
}

const connectCommand = Command.make(
  "connect",
  {
    address: Flag.String("to").pipe(
      Flag.withMetavar("HOST:PORT"),
      Flag.withDescription("where the device server is [env A2C_DEVICES_TO]"),
      Flag.withFallbackConfig(Config.String("A2C_DEVICES_TO")),
      Flag.filterMap(parseHostPort, () => "a place like 127.0.0.1:7071")
    ),
    name: computerName.pipe(
      Flag.withDescription("name to go by at the device server [env A2C_NAME; default: the host's name]")
    ),
    token: deviceTokenFlag,
    configFiles,
    inputs: inputValues,
    watch,
    approve
  },
  Effect.fn(function* (options) {
    const { runDevice } = yield* Effect.promise(() => import("./runDevice.ts"))
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
export const devicesCommand = Command.make("devices").pipe(
  Command.withDescription("Devices of the AI降临派 TCP protocol: take them in, or be one"),
  Command.withSubcommands([gatewayCommand, connectCommand])
)
