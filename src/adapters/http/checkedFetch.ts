import { lookup as dnsLookup } from "node:dns"
import type { LookupFunction } from "node:net"
import { Readable } from "node:stream"
import { Effect, type Scope } from "effect"
import { type AddressKind, addressKind } from "./hostAccess.ts"
import { bodilessStatuses, isResponseStatus, makeHttpClient, requestFailure, toResponse } from "./nodeHttp.ts"

export type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>

/** A policy forbids a request. The message has the origin of the URL, and nothing else of it. */
export class RequestForbidden extends Error {
  readonly _tag = "RequestForbidden"
}

/** Decides about requests to URLs that a peer has named. */
export interface FetchPolicy {
  /** The reason why a URL is forbidden. */
  readonly checkUrl: (url: URL, method: string) => string | undefined
  readonly allowsAddress: (address: string, kind: AddressKind, url: URL) => boolean
}

const encodeBody = (body: NonNullable<RequestInit["body"]>): string => {
  if (typeof body === "string") return body
  if (body instanceof URLSearchParams) return body.toString()
  throw new Error("the body must be a text or a form")
}

const isAllowed = ({ allowsAddress }: FetchPolicy, address: string, url: URL): boolean =>
  allowsAddress(address, addressKind(address) ?? "reserved", url)

/** The reason why a policy forbids a URL, as far as that shows without a name lookup. */
export const forbiddenReason = (policy: FetchPolicy, url: URL, method: string): string | undefined => {
  if (url.username !== "" || url.password !== "") return "the URL has credentials"
  const reason = policy.checkUrl(url, method)
  if (reason !== undefined) return reason
  const kind = addressKind(url.hostname)
  return kind === undefined || isAllowed(policy, url.hostname, url)
    ? undefined
    : `a ${kind} address is not allowed here`
}

/**
 * Makes a fetch for URLs that a peer has named (server-side request forgery). It checks the address that it connects to,
 * so a name cannot change its address between check and use. It does not follow redirects. Behind a proxy, the proxy
 * resolves names, and only addresses in URLs are checked. Connections close with the scope.
 */
export const makeCheckedFetch = Effect.fnUntraced(function* (
  policy: FetchPolicy,
  lookup?: typeof dnsLookup
): Effect.fn.Return<Fetch, never, Scope.Scope> {
  const startRequest = yield* makeHttpClient
  const makeLookup =
    (url: URL): LookupFunction =>
    (hostname, options, callback) =>
      (lookup ?? dnsLookup)(hostname, { ...options, all: true }, (error, found) => {
        if (error !== null) return callback(error, [])
        const allowed = found.filter(({ address }) => isAllowed(policy, address, url))
        const [first] = allowed
        if (first !== undefined) {
          return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family)
        }
        const kinds = [...new Set(found.map(({ address }) => addressKind(address)))].join(", ")
        callback(new RequestForbidden(`${url.origin}: the name has a ${kinds} address, which is not allowed here`), [])
      })

  return (input, { body, headers: given, method = "GET", signal } = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input)
      const reason = forbiddenReason(policy, url, method)
      if (reason !== undefined) throw new RequestForbidden(`${url.origin}: ${reason}`)
      const headers = new Headers(given)
      headers.set("accept-encoding", "identity")
      const request = startRequest(url, {
        method,
        headers: Object.fromEntries(headers),
        lookup: makeLookup(url),
        ...(signal && { signal })
      })
      request.on("error", (error) => reject(requestFailure(url, error)))
      request.on("response", (incoming) => {
        const { statusCode: status = 0 } = incoming
        if (!isResponseStatus(status)) return request.destroy(new Error(`invalid HTTP status ${status}`))
        if (bodilessStatuses.has(status)) {
          incoming.resume()
          return resolve(toResponse(incoming, null))
        }
        resolve(toResponse(incoming, Readable.toWeb(incoming) as ReadableStream))
      })
      request.end(body === undefined || body === null ? undefined : encodeBody(body))
    })
})
