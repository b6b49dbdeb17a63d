import { Effect } from "effect"
import { definedOnly } from "../../../domain/objects.ts"
import { failCommand } from "../../CommandFailed.ts"
import type { ServerCommandOptions } from "./flags.ts"
import { toLimits } from "./limitFlags.ts"

const tlsFiles = Effect.fnUntraced(function* ({ tlsCert: cert, tlsKey: key }: ServerCommandOptions) {
  if (cert !== undefined && key !== undefined) return { cert, key }
  if (cert === undefined && key === undefined) return undefined
  return yield* failCommand("A certificate needs its key: give --tls-cert and --tls-key together")
})

/** The options of the layers for the flags of `a2c server`, except those of the authenticator. */
export const toServerOptions = Effect.fnUntraced(function* (options: ServerCommandOptions) {
  const { audit: file, auditKeep: keep, auditMaxBytes: maxBytes, ...others } = options
  const { appOrigin, appPort, drainTimeout, limits, nodeAddress, page, pageBodies, redis, ...more } = others
  const { redisPrefix: prefix, requireRole, ...transport } = more
  if (pageBodies && !page) return yield* failCommand("--page-bodies needs the office page: remove --no-page")
  if (appOrigin !== undefined && appPort === undefined) return yield* failCommand("--app-origin needs --app-port")
  if (nodeAddress !== undefined && redis === undefined) return yield* failCommand("--node-address needs --redis")
  return {
    layer: {
      ...transport,
      limits: toLimits(limits),
      settings: { requireRole, drainTimeout },
      page: page && { ...(pageBodies && { bodies: {} }), apps: definedOnly({ origin: appOrigin, port: appPort }) },
      ...definedOnly({ redis: redis && { url: redis, prefix, ...definedOnly({ address: nodeAddress }) } })
    },
    tls: yield* tlsFiles(options),
    audit: file === undefined ? undefined : { file, keep, maxBytes }
  }
})
