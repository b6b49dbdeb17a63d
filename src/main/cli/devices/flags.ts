import { type Command, Flag } from "effect/cli"
import { defaultGatewayLimits } from "../../../application/devices/DeviceLimits.ts"
import {
  approve,
  computerName,
  configFiles,
  inputValues,
  listenHost,
  mcpTokenFlag,
  parseHostPort,
  policy,
  sizeFlag,
  watch
} from "../flags/sharedFlags.ts"
import { flag, setting } from "../flags/setting.ts"

const deviceToken = setting.secret("token", "token that a device must send", { env: "A2C_DEVICES_TOKEN" })

const { callTimeout, idleTimeout, maxBufferedBytes, maxCalls, maxDevices, maxPayloadBytes, maxServices } =
  defaultGatewayLimits

export const gatewayFlags = {
  tcp: setting.port("tcp", "port for devices, 0 for a free one", { env: "A2C_DEVICES_TCP", default: 7071 }),
  host: listenHost(flag),
  token: deviceToken,
  tokens: flag.file("tokens", 'file with one token per device, {"lamp": "…"}; rejects devices that it does not name'),
  stdio: flag.toggle("stdio", "publish the devices as an MCP server over stdio"),
  http: flag.port("http", "publish the devices as an MCP server over Streamable HTTP, 0 for a free port"),
  mcpToken: mcpTokenFlag("mcp-token"),
  acknowledge: flag.toggle(
    "acknowledge",
    "send devices the outcome of their registration; they must support that message"
  ),
  limits: {
    maxDevices: sizeFlag("max-devices", 65_535, maxDevices, "maximum number of connections"),
    maxServices: sizeFlag("max-services", 10_000, maxServices, "maximum number of services of a device"),
    maxCalls: sizeFlag("max-calls", 10_000, maxCalls, "maximum number of in-flight calls to a device"),
    maxPayloadBytes: sizeFlag("max-payload", 64 * 1024 ** 2, maxPayloadBytes, "maximum size of a message in bytes"),
    maxBufferedBytes: sizeFlag(
      "max-buffered",
      2 ** 40,
      maxBufferedBytes,
      "maximum bytes that all devices together have not read, or have sent in part; above it, the slowest are disconnected"
    ),
    callTimeout: flag.seconds("timeout", "timeout of a call", { default: callTimeout }),
    idleTimeout: flag.seconds(
      "idle",
      "idle timeout: closes the connection of a silent device; `a2c devices connect` sends once a minute",
      { default: idleTimeout }
    )
  }
}
export type GatewayCommandOptions = Command.Command.Config.Infer<typeof gatewayFlags>

export const connectFlags = {
  address: setting.parsed(
    "to",
    "address of the device server",
    [(text) => parseHostPort(text, 1), "an address like 127.0.0.1:7071"],
    { env: "A2C_DEVICES_TO", metavar: "HOST:PORT", required: true }
  ),
  name: computerName.pipe(
    Flag.withDescription("name of the device at the device server [env A2C_NAME; default: the host name]")
  ),
  token: deviceToken,
  configFiles,
  inputs: inputValues,
  watch,
  approve,
  policy
}
export type ConnectCommandOptions = Command.Command.Config.Infer<typeof connectFlags>
