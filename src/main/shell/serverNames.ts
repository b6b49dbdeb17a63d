import { Effect } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { refuse } from "../failure.ts"
import { meant } from "./nearest.ts"

/** The servers that are configured now, in their order. */
export const serverNames = Computer.use(({ setup }) =>
  Effect.map(setup, ({ config }) => Object.keys(config.servers))
)

/** The configuration of a server; fails when there is none of this name. */
export const knownServer = Effect.fnUntraced(function* (name: string) {
  const { config } = yield* Computer.use(({ setup }) => setup)
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  if (server !== undefined) return server
  return yield* refuse(`No server '${name}' is configured${meant(name, Object.keys(config.servers))}`)
})
