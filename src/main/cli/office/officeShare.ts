import { createHash } from "node:crypto"
import { posix, resolve } from "node:path"
import { Config, Context, Effect, Layer, Option, Redacted } from "effect"
import { isPrivateFolder, makePrivateFolder, maxSocketPathBytes } from "../../../adapters/http/unixSocket.ts"
import { homeFolder, pathBelow } from "../../../adapters/process/userFolders.ts"
import * as SocketIoClient from "../../../adapters/socketio/client/SocketIoClient.ts"
import { Agent } from "../../../application/agent/Agent.ts"
import type { LineName } from "../../../domain/wire/lines.ts"
import { shareOffice } from "../../../application/agent/officeShare.ts"

/** The identity of an Agent: processes with the same one share its connection. */
export interface SharedIdentity {
  readonly server: string
  readonly office: string
  readonly name: string
  readonly protocol: LineName | "auto"
  readonly tokenFile: string | undefined
}

const readVariable = (name: string) => Effect.orDie(Config.withDefault(Config.String(name), ""))

/** The folders for sockets, best first. A host program may start its process without the first variable. */
const socketFolders = Effect.gen(function* () {
  const runtime = pathBelow(yield* readVariable("XDG_RUNTIME_DIR"), undefined, "", "a2c")
  const cache = pathBelow(yield* readVariable("XDG_CACHE_HOME"), homeFolder(), ".cache", "a2c")
  return [runtime, cache].filter((folder) => folder !== undefined)
})

/** The credential as far as it tells identities apart; a file may get a new token. */
const credentialOf = Effect.fnUntraced(function* (tokenFile: string | undefined) {
  if (tokenFile !== undefined) return `file ${resolve(tokenFile)}`
  const token = yield* Effect.orDie(Config.option(Config.Redacted("A2C_TOKEN")))
  return Option.isSome(token) ? `token ${Redacted.value(token.value)}` : ""
})

/** The sockets at which an office may be shared, best first; on Windows an empty list. */
const socketPaths = Effect.fnUntraced(function* ({ name, office, protocol, server, tokenFile }: SharedIdentity) {
  if (process.platform === "win32") return []
  const identity = [new URL(server).href, office, name, protocol, yield* credentialOf(tokenFile)]
  const id = createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 32)
  const paths = (yield* socketFolders).map((folder) => posix.join(folder, id))
  return paths.filter((path) => Buffer.byteLength(path) <= maxSocketPathBytes)
})

const listenOn = Effect.fnUntraced(function* (path: string, identity: SharedIdentity) {
  const agent = yield* Agent
  // Most commands share nothing, and need no Server.
  const { layerOnSocket } = yield* Effect.promise(() => import("../../../adapters/socketio/RelayServer.ts"))
  yield* makePrivateFolder(posix.dirname(path))
  return yield* Effect.provide(shareOffice(agent, identity), layerOnSocket(path))
})

/**
 * Lets other commands of this user with the same identity use the connection of this Agent, until the scope closes. Gives
 * an effect that waits until no command does.
 */
export const shareWithCommands = Effect.fnUntraced(function* (identity: SharedIdentity) {
  const paths = yield* socketPaths(identity)
  const sharing = Effect.firstSuccessOf(paths.map((path) => listenOn(path, identity)))
  return yield* Effect.catchCause(sharing, (cause) =>
    Effect.as(Effect.logDebug("office not shared", cause), Effect.void)
  )
})

/** True when the Agent of a command has its own connection, and not that of another command. */
export const HasOwnConnection = Context.Reference("a2c-smcp/main/cli/office/HasOwnConnection", {
  defaultValue: () => false
})

/** The Agent of a process of this user with the same identity, or else that of `layer`. */
export const sharedAgentLayer = <E, R>(
  identity: SharedIdentity,
  followsComputers: boolean,
  layer: Layer.Layer<Agent, E, R>
) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const paths = yield* socketPaths(identity)
      const safe = yield* Effect.filter(paths, (path) => isPrivateFolder(posix.dirname(path)))
      return safe.reduceRight(
        (otherwise, path) => {
          const { name, office, protocol } = identity
          const shared = Agent.layer({ name, office, protocol, followsComputers })
          return Layer.catch(Layer.provide(shared, SocketIoClient.layerOnSocket(path)), () => otherwise)
        },
        Layer.merge(layer, Layer.succeed(HasOwnConnection, true))
      )
    })
  )
