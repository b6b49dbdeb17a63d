import { Effect, Option, Redacted, Stream } from "effect"
import * as TcpConnector from "../../../adapters/tcp/TcpConnector.ts"
import { Computer } from "../../../application/computer/Computer.ts"
import { makeComputerMcpSession } from "../../../application/computer/ComputerMcpSession.ts"
import { connectDevice } from "../../../application/devices/client/DeviceClient.ts"
import { isValidDeviceToken, isValidAuthField } from "../../../domain/devices/handshake.ts"
import { toCommandFailed, failCommand } from "../CommandFailed.ts"
import { type TerminalIO, makeTerminalIO } from "../TerminalIO.ts"
import { type ConfiguredComputerOptions, withComputer } from "../computer/withComputer.ts"

/** What the command line says about a device. */
export interface ConnectCommandOptions
  extends Pick<ConfiguredComputerOptions, "name" | "configFiles" | "inputs" | "approve" | "watch"> {
  readonly address: { readonly host: string; readonly port: number }
  readonly token: Option.Option<Redacted.Redacted>
}

/** The Computer inside of a device sits in no office. */
const unusedServerUrl = "http://127.0.0.1:7070"

/** How long the device waits for its MCP servers before it connects; late ones are registered when they come. */
const startupTimeout = "5 seconds"

const awaitServersStarted = Effect.gen(function* () {
  const { changes } = yield* Computer
  yield* changes.pipe(
    Stream.filter((states) => [...states.values()].every(({ _tag }) => _tag !== "Starting")),
    Stream.runHead,
    Effect.timeoutOption(startupTimeout)
  )
})

/** Is a device until it is told to stop; says on stdout what is registered. */
const stayConnected = Effect.fnUntraced(function* (
  { name, address, token }: ConnectCommandOptions,
  { print }: TerminalIO
) {
  const addressText = `${address.host}:${address.port}`
  yield* awaitServersStarted
  const status = yield* connectDevice(yield* makeComputerMcpSession(addressText), {
    ...address,
    name,
    ...(Option.isSome(token) && { token: token.value })
  })
  yield* Stream.runForEach(status, (deviceStatus) => {
    if (deviceStatus._tag === "Registered") {
      return print(`registered ${deviceStatus.services} services at ${addressText}`)
    }
    return deviceStatus._tag === "Failed" ? Effect.fail(toCommandFailed(deviceStatus.error)) : Effect.void
  })
})

/** Runs a device: MCP servers whose tools are services of a device server. */
export const runDevice = Effect.fnUntraced(
  function* (options: ConnectCommandOptions) {
    const { configFiles, name, token } = options
    if (configFiles.length === 0) return yield* failCommand("Which MCP servers? Give --config FILE")
    if (!isValidAuthField(name)) return yield* failCommand("The name of a device may not hold '##'")
    if (Option.exists(token, (one) => !isValidDeviceToken(Redacted.value(one)))) {
      return yield* failCommand("The token of a device may not be empty, hold '##', or have spaces around it")
    }
    const terminal = yield* makeTerminalIO
    const unusedOptions = {
      allWindows: false,
      dpe: Option.none(),
      dpeUrl: Option.none(),
      server: unusedServerUrl,
      tokenFile: Option.none()
    }
    const use = Effect.provide(stayConnected(options, terminal), TcpConnector.layer)
    return yield* Effect.provide(
      withComputer({ ...options, ...unusedOptions }, terminal, { retryInitialConnect: false }, use),
      terminal.log
    )
  },
  Effect.scoped,
  Effect.mapError(toCommandFailed)
)
