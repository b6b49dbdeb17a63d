import { Effect } from "effect"
import { isLoopbackHost } from "../../adapters/http/hostAccess.ts"
import { failCommand } from "../CommandFailed.ts"

/** Fails when other machines could reach a service that has no authentication. */
export const requireCredentials = (host: string, hasCredentials: boolean, service: string, remedy: string) =>
  hasCredentials || isLoopbackHost(host)
    ? Effect.void
    : failCommand(`${host} is reachable from other machines, and ${service} has no authentication: ${remedy}`)
