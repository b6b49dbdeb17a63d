import { Duration, Effect, Redacted, Stream } from "effect"
import * as TcpConnector from "../../../adapters/tcp/TcpConnector.ts"
import { makeComputerMcpSession } from "../../../application/computer/ComputerMcpSession.ts"
import { connectDevice } from "../../../application/devices/client/DeviceClient.ts"
import { SchemaValidator } from "../../../application/ports/SchemaValidator.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { isValidDeviceToken, isValidAuthField } from "../../../domain/devices/handshake.ts"
import { failCommand } from "../../CommandFailed.ts"
import { type TerminalIO, makeTerminalIO } from "../TerminalIO.ts"
import { awaitServersStarted } from "../awaitServersStarted.ts"
import { withComputer } from "../computer/withComputer.ts"
import type { ConnectCommandOptions } from "./flags.ts"
import { formatQuantity } from "../../../domain/text/format.ts"

/** Time for MCP servers to start before the device connects; the tools of later ones are registered then. */
const startupTimeout = Duration.seconds(5)

/** Keeps the device connected and prints registrations to stdout. */
const stayConnected = Effect.fnUntraced(function* (options: ConnectCommandOptions, { print }: TerminalIO) {
  const { address, name, token } = options
  const addressText = `${address.host}:${address.port}`
  yield* Effect.timeoutOption(awaitServersStarted, startupTimeout)
  const status = yield* connectDevice(yield* makeComputerMcpSession(addressText), {
    ...address,
    name,
    ...definedOnly({ token })
  })
  yield* Stream.runForEach(status, (deviceStatus) => {
    if (deviceStatus._tag === "Registered") {
      return print(`registered ${formatQuantity(deviceStatus.services, "service")} at ${addressText}`)
    }
    return deviceStatus._tag === "Failed" ? Effect.fail(deviceStatus.error) : Effect.void
  })
})

/** Runs a device: MCP servers whose tools are services of a device server. */
export const runDevice = Effect.fnUntraced(function* (options: ConnectCommandOptions) {
  const { configFiles, name, token } = options
  if (configFiles.length === 0) return yield* failCommand("--config FILE is required")
  if (!isValidAuthField(name)) return yield* failCommand("The name of a device must not contain '##'")
  if (token !== undefined && !isValidDeviceToken(Redacted.value(token))) {
    return yield* failCommand(
      "The token of a device must not be empty, contain '##', end with '#', or start or end with a space"
    )
  }
  const terminal = yield* makeTerminalIO
  // The Computer validates the calls.
  const use = Effect.provide(stayConnected(options, terminal), [TcpConnector.layer, SchemaValidator.layerAllowAll])
  return yield* withComputer(options, terminal, {}, use)
})
