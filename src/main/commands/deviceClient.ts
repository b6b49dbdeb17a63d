import { Effect, Option, Redacted, Stream } from "effect"
import * as TcpConnector from "../../adapters/tcp/TcpConnector.ts"
import { Computer } from "../../application/computer/Computer.ts"
import { computerSession } from "../../application/computer/ComputerSession.ts"
import { connectDevice } from "../../application/devices/DeviceClient.ts"
import { isToken, isWritable } from "../../domain/devices/session.ts"
import { failed, refuse } from "../failure.ts"
import { type Front, quietFront } from "../front.ts"
import { type ConfiguredComputer, withComputer } from "./configuredComputer.ts"

/** What the command line says about a device. */
export interface DeviceCommand
  extends Pick<ConfiguredComputer, "name" | "config" | "input" | "approve" | "watch"> {
  readonly to: { readonly host: string; readonly port: number }
  readonly token: Option.Option<Redacted.Redacted>
}

/** The Computer inside of a device sits in no office. */
const noServer = "http://127.0.0.1:7070"

/** How long the device waits for its MCP servers before it connects; late ones are registered when they come. */
const startupPatience = "5 seconds"

const started = Effect.gen(function* () {
  const { changes } = yield* Computer
  yield* changes.pipe(
    Stream.filter((states) => [...states.values()].every(({ _tag }) => _tag !== "Starting")),
    Stream.runHead,
    Effect.timeoutOption(startupPatience)
  )
})

/** Is a device until it is told to stop; says on stdout what is registered. */
const stay = Effect.fnUntraced(function* ({ name, to, token }: DeviceCommand, { say }: Front) {
  const place = `${to.host}:${to.port}`
  yield* started
  const status = yield* connectDevice(yield* computerSession(place), {
    ...to,
    name,
    ...(Option.isSome(token) && { token: token.value })
  })
  yield* Stream.runForEach(status, (standing) => {
    if (standing._tag === "Registered") {
      return say(`registered ${standing.services} services at ${place}`)
    }
    return standing._tag === "Ended" ? Effect.fail(failed(standing.error)) : Effect.void
  })
})

/** Runs a device: MCP servers whose tools are services of a device server. */
export const runDevice = Effect.fnUntraced(
  function* (command: DeviceCommand) {
    const { config, name, token } = command
    if (config.length === 0) return yield* refuse("Which MCP servers? Give --config FILE")
    if (!isWritable(name)) return yield* refuse("The name of a device may not hold '##'")
    if (Option.exists(token, (one) => !isToken(Redacted.value(one)))) {
      return yield* refuse("The token of a device may not be empty, hold '##', or have spaces around it")
    }
    const front = yield* quietFront
    const nothing = {
      allWindows: false,
      dpe: Option.none(),
      dpeUrl: Option.none(),
      server: noServer,
      tokenFile: Option.none()
    }
    const use = Effect.provide(stay(command, front), TcpConnector.layer)
    return yield* Effect.provide(
      withComputer({ ...command, ...nothing }, front, { patient: false }, use),
      front.log
    )
  },
  Effect.scoped,
  Effect.mapError(failed)
)
