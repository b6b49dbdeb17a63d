import { lookup } from "node:dns/promises"
import { Effect } from "effect"
import { matchesPattern } from "../../domain/wildcard.ts"
import { type AddressKind, addressKind, mayName } from "../http/addressKind.ts"
import { makeCheckedFetch } from "../http/checkedFetch.ts"

const maxRedirects = 5

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The kind of the Server's address; public when its name is unknown. */
const kindOfServer = async (serverUrl: string): Promise<AddressKind> => {
  const host = URL.parse(serverUrl)?.hostname ?? ""
  const address = addressKind(host) === undefined ? await lookup(host).catch(() => undefined) : { address: host }
  return addressKind(address?.address ?? "") ?? "public"
}

/**
 * Makes a fetch for documents, whose URLs Computers and their MCP servers choose. It follows redirects, and checks each
 * URL: public addresses, addresses in the network of the Server, and hosts that match a pattern are allowed. Connections
 * close with the scope.
 */
export const makeDocumentFetch = Effect.fnUntraced(function* (serverUrl: string, hosts: ReadonlyArray<string>) {
  let serverKind: AddressKind = "public"
  const checkedFetch = yield* makeCheckedFetch({
    checkUrl: ({ protocol }) =>
      protocol === "http:" || protocol === "https:" ? undefined : "http or https is required",
    allowsAddress: (_, kind, { hostname }) =>
      mayName(serverKind, kind) || hosts.some((pattern) => matchesPattern(pattern, hostname))
  })
  const follow = async (url: URL, init: RequestInit, redirects: number): Promise<Response> => {
    const response = await checkedFetch(url, init)
    const target = redirectStatuses.has(response.status) ? response.headers.get("location") : null
    if (target === null) return response
    await response.body?.cancel()
    if (redirects === maxRedirects) throw new Error(`more than ${maxRedirects} redirects`)
    return follow(new URL(target, url), init, redirects + 1)
  }
  return async (url: URL, init: RequestInit): Promise<Response> => {
    serverKind = await kindOfServer(serverUrl)
    return follow(url, init, 0)
  }
})
