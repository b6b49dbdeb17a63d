import { Console, Effect, FileSystem, Layer, Option, Redacted, Schema } from "effect"
import { publishStdio } from "../../adapters/mcp/publish/Stdio.ts"
import { byToken, byTokens } from "../../adapters/node/deviceTokens.ts"
import type { AuthenticateDevice } from "../../application/devices/Authentication.ts"
import { isGoodName } from "../../application/devices/DeviceConnection.ts"
import { DeviceGateway } from "../../application/devices/DeviceGateway.ts"
import type { GatewayLimits } from "../../application/devices/DeviceLimits.ts"
import { isToken } from "../../domain/devices/session.ts"
import { decoder } from "../../domain/explain.ts"
import { failed, refuse } from "../failure.ts"
import { gatewayLayer } from "../layers.ts"
import { isLoopback, publishAt } from "./publish.ts"

/** What the command line says about a gateway. */
export interface GatewayCommand
  extends Pick<
    GatewayLimits,
    "mostDevices" | "mostServices" | "mostCalls" | "largest" | "callTimeout" | "idleTime"
  > {
  readonly tcp: number
  readonly host: string
  readonly token: Option.Option<Redacted.Redacted>
  /** A file with a token for each device. */
  readonly tokens: Option.Option<string>
  readonly stdio: boolean
  readonly http: Option.Option<number>
  readonly mcpToken: Option.Option<Redacted.Redacted>
  readonly acknowledge: boolean
}

const readTokens = decoder(Schema.Record(Schema.String, Schema.String).check(Schema.isMinProperties(1)))

/** What is wrong with a token that no device could show. */
const unshowable = "may not be empty, hold '##', or have spaces around it"

/** What keeps these tokens from telling who a device is, if anything does. */
const tokensFault = (tokens: { readonly [name: string]: string }): string | undefined => {
  const names = Object.keys(tokens)
  const unnamed = names.find((name) => !isGoodName(name))
  if (unnamed !== undefined) return `${JSON.stringify(unnamed)} cannot be the name of a device`
  const unshown = names.find((name) => !isToken(tokens[name] ?? ""))
  if (unshown !== undefined) return `the token of '${unshown}' ${unshowable}`
  return new Set(Object.values(tokens)).size < names.length ? "two devices have the same token" : undefined
}

/** Reads the file of tokens; no token is ever said. */
const tokensOf = Effect.fnUntraced(function* (file: string) {
  const { readFileString } = yield* FileSystem.FileSystem
  const text = yield* Effect.catch(readFileString(file), ({ message, reason }) =>
    refuse(`The tokens cannot be read: ${reason._tag === "NotFound" ? `there is no file ${file}` : message}`)
  )
  const json = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    // The parser's own words may quote what stands there.
    catch: () => undefined
  }).pipe(Effect.catch(() => refuse(`The tokens in ${file} are not JSON`)))
  const tokens = yield* Effect.catch(Effect.fromResult(readTokens(json)), (why) =>
    refuse(`${file} must be like {"lamp": "a token"}: ${why}`)
  )
  const fault = tokensFault(tokens)
  if (fault !== undefined) return yield* refuse(`The tokens in ${file} cannot be used: ${fault}`)
  return new Map(Object.entries(tokens).map(([name, token]) => [name, Redacted.make(token)]))
})

const authenticationOf = Effect.fnUntraced(function* ({ host, token, tokens }: GatewayCommand) {
  if (Option.isSome(tokens)) {
    const known = yield* tokensOf(tokens.value)
    return Option.some<AuthenticateDevice>(byTokens(known))
  }
  if (Option.isSome(token)) {
    return isToken(Redacted.value(token.value))
      ? Option.some(byToken(token.value))
      : yield* refuse(`The token of the devices ${unshowable}`)
  }
  return isLoopback(host)
    ? Option.none<AuthenticateDevice>()
    : yield* refuse(
        `Whatever reaches ${host} could register services: set A2C_DEVICES_TOKEN, give --tokens FILE, ` +
          "or listen on 127.0.0.1"
      )
})

/** Offers the devices as MCP tools, in whatever ways are asked for, until the host closes its end. */
const offer = Effect.fnUntraced(function* ({ host, http, mcpToken, stdio }: GatewayCommand) {
  const { address, session } = yield* DeviceGateway
  // What goes to stdout is MCP's when it speaks there.
  const say = stdio ? Console.error : Console.log
  yield* say(`listening for devices on ${address.host}:${address.port}`)
  if (Option.isSome(http)) {
    yield* publishAt(session, "devices", { host, port: http.value, token: mcpToken })
  }
  if (stdio) return yield* Effect.mapError(publishStdio(session), failed)
  if (Option.isNone(http)) {
    yield* Effect.logWarning("the devices are offered to nobody: give --http PORT or --stdio")
  }
  return yield* Effect.never
})

/** Takes devices in until it is told to stop. */
export const runGateway = Effect.fnUntraced(
  function* (command: GatewayCommand) {
    const { acknowledge, host, http, stdio, tcp, ...rest } = command
    if (stdio && Option.isSome(http)) {
      return yield* refuse("Give --stdio or --http, not both: stdout can only be one of them")
    }
    const authenticate = yield* authenticationOf(command)
    const { callTimeout, idleTime, largest, mostCalls, mostDevices, mostServices } = rest
    return yield* Effect.provide(
      offer(command),
      Layer.fresh(
        gatewayLayer({
          host,
          port: tcp,
          acknowledge,
          ...(Option.isSome(authenticate) && { authenticate: authenticate.value }),
          limits: { callTimeout, idleTime, largest, mostCalls, mostDevices, mostServices }
        })
      )
    )
  },
  Effect.scoped,
  Effect.mapError(failed)
)
