import { Effect } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { failCommand } from "../cli/CommandFailed.ts"
import { didYouMean } from "./didYouMean.ts"

/** The names of the configured servers, in the order of the configuration. */
export const serverNames = Computer.use(({ setup }) => Effect.map(setup, ({ config }) => Object.keys(config.servers)))

/** The configuration of a server; fails when no server has this name. */
export const requireServer = Effect.fnUntraced(function* (name: string) {
  const { config } = yield* Computer.use(({ setup }) => setup)
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  if (server !== undefined) return server
  return yield* failCommand(`No server '${name}' is configured${didYouMean(name, Object.keys(config.servers))}`)
})
