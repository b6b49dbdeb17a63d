import type { Agent, ClientRequest, IncomingMessage, Server as HttpServer } from "node:http"

// Every private field of another package that this adapter uses, each in brackets; `internals.test.ts` counts them and
// fails when an update removes one. Types only: browsers also load this file.

/** Replaces a member of an object. The returned function restores it, unless another library has replaced it in turn. */
const replaceMember = <T extends object, K extends keyof T>(object: T, name: K, replacement: T[K]): (() => void) => {
  const replaced = Object.getOwnPropertyDescriptor(object, name)
  object[name] = replacement
  return () => {
    if (object[name] !== replacement) return
    Reflect.deleteProperty(object, name)
    if (replaced !== undefined) Object.defineProperty(object, name, replaced)
  }
}

/**
 * Decides which upgrade requests of an HTTP server reach its listeners of upgrades; the others are plain requests. The
 * returned function restores the decision of the host. Node documents the option, but not the field that it sets, and
 * versions before 24.9 take every request for an upgrade.
 */
export const decideUpgrades = (
  http: HttpServer,
  decide: (request: IncomingMessage, decideHost: () => boolean) => boolean
): (() => void) => {
  const fields = http as { shouldUpgradeCallback?: (request: IncomingMessage) => boolean }
  const replaced = fields["shouldUpgradeCallback"]
  return replaceMember(fields, "shouldUpgradeCallback", (request) =>
    decide(request, () => replaced === undefined || replaced.call(http, request))
  )
}

/**
 * Offers the events of an HTTP server to `take` before its listeners, also before those that it gets later: two that answer
 * one request would end the process. The returned function restores the server.
 */
export const interceptEvents = (http: HttpServer, take: (event: unknown, args: ReadonlyArray<unknown>) => boolean) => {
  const fields = http as { emit: (event: unknown, ...args: ReadonlyArray<unknown>) => boolean }
  const emit = fields.emit.bind(http)
  return replaceMember(fields, "emit", (event, ...args) => take(event, args) || emit(event, ...args))
}

/** Calls `onRequest` with every request of an agent before it is sent. */
export const observeRequests = (agent: Agent, onRequest: (request: ClientRequest) => void): void => {
  type AddRequest = (request: ClientRequest, ...details: ReadonlyArray<unknown>) => void
  const fields = agent as unknown as { addRequest: AddRequest }
  const addRequest = fields["addRequest"].bind(agent)
  fields["addRequest"] = (request, ...details) => {
    onRequest(request)
    addRequest(request, ...details)
  }
}
