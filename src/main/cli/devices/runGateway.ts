import { Effect, Layer, Redacted, Result, Schema } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { authenticateByToken, authenticateByTokens } from "../../../adapters/auth/deviceTokens.ts"
import { isValidDeviceName } from "../../../application/devices/gateway/DeviceConnection.ts"
import { DeviceGateway } from "../../../application/devices/gateway/DeviceGateway.ts"
import { isValidDeviceToken } from "../../../domain/devices/handshake.ts"
import { makeDecoder } from "../../../domain/validation.ts"
import { failCommand } from "../../CommandFailed.ts"
import { jsonc, readDecodedFile } from "../../config/documents.ts"
import { gatewayLayer } from "../../layers/gatewayLayer.ts"
import { printError, printLine } from "../output/print.ts"
import { publishOverHttp } from "../publishOverHttp.ts"
import { requireCredentials } from "../requireCredentials.ts"
import type { GatewayCommandOptions } from "./flags.ts"

const decodeTokens = makeDecoder(Schema.Record(Schema.String, Schema.String).check(Schema.isMinProperties(1)))

const tokenRule = "must not be empty, contain '##', end with '#', or start or end with a space"

/** The reason why these tokens cannot identify devices; `undefined` when they can. */
const tokensError = (tokens: { readonly [name: string]: string }): string | undefined => {
  const names = Object.keys(tokens)
  const badName = names.find((name) => !isValidDeviceName(name))
  if (badName !== undefined) return `${JSON.stringify(badName)} cannot be the name of a device`
  const badToken = names.find((name) => !isValidDeviceToken(tokens[name] ?? ""))
  if (badToken !== undefined) return `the token of '${badToken}' ${tokenRule}`
  return new Set(Object.values(tokens)).size < names.length ? "two devices have the same token" : undefined
}

/** Decodes the tokens of a file. No message contains a token. */
const parseTokens = (value: unknown) =>
  decodeTokens(value).pipe(
    Result.mapError((reason) => `must be like {"lamp": "a token"}: ${reason}`),
    Result.filterOrFail(
      (tokens) => tokensError(tokens) === undefined,
      (tokens) => tokensError(tokens) ?? ""
    ),
    Result.mapError((issue) => [{ path: [], issue }])
  )

const readTokensFile = Effect.fnUntraced(function* (file: string) {
  const reading = readDecodedFile(file, jsonc, parseTokens)
  const tokens = yield* Effect.catch(reading, (errors) => failCommand(errors.join("\n")))
  return new Map(Object.entries(tokens).map(([name, token]) => [name, Redacted.make(token)]))
})

const makeDeviceAuthenticator = Effect.fnUntraced(function* ({ host, token, tokens }: GatewayCommandOptions) {
  if (tokens !== undefined) return authenticateByTokens(yield* readTokensFile(tokens))
  if (token !== undefined) {
    return isValidDeviceToken(Redacted.value(token))
      ? authenticateByToken(token)
      : yield* failCommand(`The token of the devices ${tokenRule}`)
  }
  yield* requireCredentials(
    host,
    false,
    "the device gateway",
    "set A2C_DEVICES_TOKEN, give --tokens FILE, or listen on 127.0.0.1"
  )
  return undefined
})

/** Publishes the devices as MCP tools until the host closes stdio or the process is stopped. */
const publishDevices = Effect.fnUntraced(function* ({ host, http, mcpToken, stdio }: GatewayCommandOptions) {
  const { address, session } = yield* DeviceGateway
  // With --stdio MCP owns stdout.
  const print = stdio ? printError : printLine
  yield* print(`listening for devices on ${address.host}:${address.port}`)
  if (http !== undefined) {
    yield* publishOverHttp(session, "devices", { host, port: http, token: mcpToken })
  }
  if (stdio) return yield* publishStdio(session)
  if (http === undefined) {
    yield* Effect.logWarning("device tools are not published: give --http PORT or --stdio")
  }
  return yield* Effect.never
})

export const runGateway = Effect.fnUntraced(function* (options: GatewayCommandOptions) {
  const { acknowledge: acknowledgeRegistration, host, http, limits, stdio, tcp: port } = options
  if (stdio && http !== undefined) {
    return yield* failCommand("Give --stdio or --http, not both: stdout can only be one of them")
  }
  const authenticate = (yield* makeDeviceAuthenticator(options)) ?? "allowAll"
  const layer = gatewayLayer({ host, port, authenticate, acknowledgeRegistration, limits })
  return yield* Effect.provide(publishDevices(options), Layer.fresh(layer))
})
