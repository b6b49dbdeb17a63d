import { type AddressKind, addressKind, isLoopbackHost, mayName } from "../../http/hostAccess.ts"
import { type FetchPolicy, forbiddenReason, makeCheckedFetch } from "../../http/checkedFetch.ts"

/** A name alone does not show where a server is: its owner can change the address at any time. */
const kindOf = ({ hostname }: URL, address = ""): AddressKind =>
  addressKind(address) ?? addressKind(hostname) ?? (isLoopbackHost(hostname) ? "loopback" : "public")

/**
 * The policy for the URLs of an OAuth flow, which the MCP server and its authorization server name (MCP security best
 * practices, RFC 9728 §7.7). They use HTTPS, except on loopback and for the metadata of the MCP server itself, and lead to
 * public addresses or to the network of the MCP server.
 */
const makePolicy = (server: URL, serverAddress: string | undefined): FetchPolicy => {
  const serverKind = kindOf(server, serverAddress)
  return {
    checkUrl: (url, method) => {
      if (url.protocol === "https:") return undefined
      const isPlain = url.protocol === "http:"
      const isOwnMetadata = method === "GET" && url.origin === server.origin
      return isPlain && (isLoopbackHost(url.hostname) || isOwnMetadata) ? undefined : "https is required"
    },
    allowsAddress: (address, kind) => address === serverAddress || mayName(serverKind, kind)
  }
}

/** Makes the fetch for all requests of an OAuth flow. The address of the MCP server is `undefined` behind a proxy. */
export const makeOAuthFetch = (server: URL, serverAddress: string | undefined) =>
  makeCheckedFetch(makePolicy(server, serverAddress))

/** The reason why a person must not be sent to an authorization URL. */
export const forbiddenPageReason = (server: URL, serverAddress: string | undefined, page: URL): string | undefined =>
  forbiddenReason(makePolicy(server, serverAddress), page, "POST")
