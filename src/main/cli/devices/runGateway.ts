import { Console, Effect, FileSystem, Layer, Option, Redacted, Schema } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { authenticateByToken, authenticateByTokens } from "../../../adapters/auth/deviceTokens.ts"
import type { AuthenticateDevice } from "../../../application/devices/AuthenticateDevice.ts"
import { isValidDeviceName } from "../../../application/devices/gateway/DeviceConnection.ts"
import { DeviceGateway } from "../../../application/devices/gateway/DeviceGateway.ts"
import type { GatewayLimits } from "../../../application/devices/DeviceLimits.ts"
import { isValidDeviceToken } from "../../../domain/devices/handshake.ts"
import { makeDecoder } from "../../../domain/validation.ts"
import { toCommandFailed, failCommand } from "../CommandFailed.ts"
import { gatewayLayer } from "../../layers/computerLayer.ts"
import { isLoopbackName, publishOverHttp } from "../publishOverHttp.ts"

/** What the command line says about a gateway. */
export interface GatewayCommandOptions
  extends Pick<
    GatewayLimits,
    "maxDevices" | "maxServices" | "maxCalls" | "maxPayloadBytes" | "callTimeout" | "idleTimeout"
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

const decodeTokens = makeDecoder(Schema.Record(Schema.String, Schema.String).check(Schema.isMinProperties(1)))

/** What is wrong with a token that no device could show. */
const tokenRule = "may not be empty, hold '##', or have spaces around it"

/** What keeps these tokens from telling who a device is, if anything does. */
const tokensError = (tokens: { readonly [name: string]: string }): string | undefined => {
  const names = Object.keys(tokens)
  const badName = names.find((name) => !isValidDeviceName(name))
  if (badName !== undefined) return `${JSON.stringify(badName)} cannot be the name of a device`
  const badToken = names.find((name) => !isValidDeviceToken(tokens[name] ?? ""))
  if (badToken !== undefined) return `the token of '${badToken}' ${tokenRule}`
  return new Set(Object.values(tokens)).size < names.length ? "two devices have the same token" : undefined
}

/** Reads the file of tokens; no token is ever said. */
const readTokensFile = Effect.fnUntraced(function* (file: string) {
  const { readFileString } = yield* FileSystem.FileSystem
  const text = yield* Effect.catch(readFileString(file), ({ message, reason }) =>
    failCommand(
      `The tokens cannot be read: ${reason._tag === "NotFound" ? `there is no file ${file}` : message}`
    )
  )
  const json = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    // The parser's own words may quote what stands there.
    catch: () => undefined
  }).pipe(Effect.catch(() => failCommand(`The tokens in ${file} are not JSON`)))
  const tokens = yield* Effect.catch(Effect.fromResult(decodeTokens(json)), (reason) =>
    failCommand(`${file} must be like {"lamp": "a token"}: ${reason}`)
  )
  const error = tokensError(tokens)
  if (error !== undefined) return yield* failCommand(`The tokens in ${file} cannot be used: ${error}`)
  return new Map(Object.entries(tokens).map(([name, token]) => [name, Redacted.make(token)]))
})

const makeDeviceAuthenticator = Effect.fnUntraced(function* ({ host, token, tokens }: GatewayCommandOptions) {
  if (Option.isSome(tokens)) {
    const known = yield* readTokensFile(tokens.value)
    return Option.some<AuthenticateDevice>(authenticateByTokens(known))
  }
  if (Option.isSome(token)) {
    return isValidDeviceToken(Redacted.value(token.value))
      ? Option.some(authenticateByToken(token.value))
      : yield* failCommand(`The token of the devices ${tokenRule}`)
  }
  return isLoopbackName(host)
    ? Option.none<AuthenticateDevice>()
    : yield* failCommand(
        `Whatever reaches ${host} could register services: set A2C_DEVICES_TOKEN, give --tokens FILE, ` +
          "or listen on 127.0.0.1"
      )
})

/** Offers the devices as MCP tools, in whatever ways are asked for, until the host closes its end. */
const publishDevices = Effect.fnUntraced(function* ({ host, http, mcpToken, stdio }: GatewayCommandOptions) {
  const { address, session } = yield* DeviceGateway
  // What goes to stdout is MCP's when it speaks there.
  const print = stdio ? Console.error : Console.log
  yield* print(`listening for devices on ${address.host}:${address.port}`)
  if (Option.isSome(http)) {
    yield* publishOverHttp(session, "devices", { host, port: http.value, token: mcpToken })
  }
  if (stdio) return yield* Effect.mapError(publishStdio(session), toCommandFailed)
  if (Option.isNone(http)) {
    yield* Effect.logWarning("the devices are offered to nobody: give --http PORT or --stdio")
  }
  return yield* Effect.never
})

/** Takes devices in until it is told to stop. */
export const runGateway = Effect.fnUntraced(
  function* (options: GatewayCommandOptions) {
    const { acknowledge: acknowledgeRegistration, host, http, stdio, tcp, ...rest } = options
    if (stdio && Option.isSome(http)) {
      return yield* failCommand("Give --stdio or --http, not both: stdout can only be one of them")
    }
    const authenticate = yield* makeDeviceAuthenticator(options)
    const { callTimeout, idleTimeout, maxPayloadBytes, maxCalls, maxDevices, maxServices } = rest
    return yield* Effect.provide(
      publishDevices(options),
      Layer.fresh(
        gatewayLayer({
          host,
          port: tcp,
          acknowledgeRegistration,
          authenticate: Option.getOrElse(authenticate, () => "allowAll" as const),
          limits: { callTimeout, idleTimeout, maxPayloadBytes, maxCalls, maxDevices, maxServices }
        })
      )
    )
  },
  Effect.scoped,
  Effect.mapError(toCommandFailed)
)
