import { Effect } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { failCommand } from "../cli/CommandFailed.ts"
import { didYouMean } from "./didYouMean.ts"

/** The servers that are configured now, in their order. */
export const serverNames = Computer.use(({ setup }) =>
  Effect.map(setup, ({ config }) => Object.keys(config.servers))
)

/** The configuration of a server; fails when there is none of this name. */
export const requireServer = Effect.fnUntraced(function* (name: string) {
  const { config } = yield* Computer.use(({ setup }) => setup)
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  if (server !== undefined) return server
  return yield* failCommand(
    `No server '${name}' is configured${didYouMean(name, Object.keys(config.servers))}`
  )
})
