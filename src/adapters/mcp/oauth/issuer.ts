import type { OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js"
import { asObject, parseJson } from "../../../domain/json.ts"

/** What discovery found. The SDK mutates it. */
export interface IssuerState {
  discovery: OAuthDiscoveryState | undefined
  /** The authorization server announces `iss` in its responses. */
  sendsIssuer: boolean
}

/** The SDK appends a slash to the origin of an MCP server that names no authorization server. */
const isSameIssuer = (issuer: string, url: string): boolean => issuer === url || `${issuer}/` === url

export const isAuthServerMetadata = (target: string | URL): boolean =>
  /\/\.well-known\/(oauth-authorization-server|openid-configuration)/.test(String(target))

/** Whether metadata announces `iss` in responses (RFC 9207 §3). The SDK drops this from metadata of OpenID Connect. */
export const announcesIssuer = (metadata: string): boolean =>
  asObject(parseJson(metadata))["authorization_response_iss_parameter_supported"] === true

/** RFC 8414 §3.3: without this check, metadata could name the issuer of another server, and its `iss` would pass. */
export const checkMetadataIssuer = ({
  authorizationServerMetadata: metadata,
  authorizationServerUrl
}: OAuthDiscoveryState) => {
  if (metadata === undefined || isSameIssuer(metadata.issuer, authorizationServerUrl)) return
  throw new Error("Incompatible auth server: its metadata names another issuer")
}

/**
 * Checks the `iss` parameter of an authorization response (RFC 9207 §2.4): a response of another server would send its code
 * to this one. It is required when the metadata says that the server sends it.
 */
export const isExpectedIssuer = (iss: string | undefined, { discovery, sendsIssuer }: IssuerState): boolean => {
  if (iss === undefined) return !sendsIssuer
  const metadata = discovery?.authorizationServerMetadata
  return metadata === undefined
    ? discovery !== undefined && isSameIssuer(iss, discovery.authorizationServerUrl)
    : iss === metadata.issuer
}
