import { Duration, Effect, Option, Result } from "effect"
import { type DpeUri, normalizeHost, parseDpeUri } from "../../../domain/documents/DpeUri.ts"
import {
  parseDocumentBody,
  parseDocumentUri,
  findDocuments,
  listedPageCount,
  summarizeDocument
} from "../../../domain/documents/findDocuments.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { isSameUri } from "../../../domain/uri.ts"
import { asString, type JsonObject } from "../../../domain/json.ts"
import { defaultDpeTimeoutSeconds } from "../../../domain/model/fields.ts"
import type { CallRequest } from "../../../domain/wire/calls.ts"
import {
  capabilityNotSupported,
  errorCodes,
  mcpServerNotFound,
  ProtocolError
} from "../../../domain/model/ProtocolError.ts"
import { startCountdown } from "../../shared/startCountdown.ts"
import { ComputerSettings, type ResolveDpe } from "../ComputerSettings.ts"
import { listingTimedOut } from "../servers/resourceReads.ts"
import { backgroundSessionOf, isIdle, type OfferedServer, uriOf } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

const ownsHost = ({ resources }: Pick<OfferedServer, "resources">, host: string): boolean =>
  resources.some((resource) => {
    const parsed = Result.getOrUndefined(parseDpeUri(uriOf(resource)))
    return parsed !== undefined && normalizeHost(parsed.host) === normalizeHost(host)
  })

const resolutionFailed = (uri: string, reason: string, category?: string, details?: JsonObject): ProtocolError =>
  new ProtocolError({
    code: errorCodes.dpeResolutionFailed,
    message: "DPE Resolution Failed",
    extra: { uri, reason, ...definedOnly({ category }) },
    ...definedOnly({ details })
  })

/** Makes the function that gets one page of a server's resources, unchanged (spec §10.5). */
const makeResourcePages = (servers: ServerSupervisor, readTimeout: Duration.Duration) =>
  Effect.fnUntraced(function* ({ cursor, mcpServer, reqId }: CallRequest<"getResources">) {
    const server = servers.findById(mcpServer)
    if (server === undefined) {
      yield* servers.rejectServerWhileRestarting(mcpServer)
      return yield* mcpServerNotFound(mcpServer)
    }
    if (!server.session.info.capabilities.resources) return yield* capabilityNotSupported(mcpServer, "resources")
    const { items, nextCursor } = yield* server.session.listResources(cursor).pipe(
      Effect.timeoutOrElse({ duration: readTimeout, orElse: () => Effect.fail(listingTimedOut) }),
      Effect.mapError(
        ({ message }) =>
          new ProtocolError({
            code: errorCodes.internalError,
            message: `MCP Server '${mcpServer}' failed to list its resources`,
            details: { mcp_error: message },
            extra: { mcp_server: mcpServer }
          })
      )
    )
    return { resources: items, reqId, ...definedOnly({ nextCursor }) }
  })

const makeResolution = (servers: ServerSupervisor, resolveDpe: ResolveDpe | undefined) => {
  const ownersOf = (host: string) => servers.snapshot().running.filter((server) => ownsHost(server, host))

  /** Finds the server that owns a host: the first in configuration order (spec §10.3). */
  const ownerOf = Effect.fnUntraced(function* (host: string) {
    let owners = ownersOf(host)
    if (owners.length === 0) {
      const refresh = (server: OfferedServer) => Effect.ignore(servers.refreshResources(server))
      yield* Effect.forEach(servers.snapshot().running, refresh, { concurrency: "unbounded", discard: true })
      owners = ownersOf(host)
    }
    if (owners.length > 1) {
      const names = owners.map(({ config }) => config.name)
      yield* Effect.logWarning("document host ambiguous", { host, servers: names, using: names[0] })
    }
    return owners[0]
  })

  const resolve = Effect.fnUntraced(function* (
    { agent, reqId }: CallRequest<"getDpe">,
    { host, uri }: DpeUri,
    resolver: ResolveDpe
  ) {
    const owner = yield* ownerOf(host)
    if (owner === undefined) {
      yield* servers.rejectWhileRestarting((server) => ownsHost(server, host))
      return yield* resolutionFailed(uri, `no MCP server has documents of host '${host}'`)
    }
    const name = servers.identify(owner.config.name)
    const failed = (reason: string, category: string, details: JsonObject = {}) =>
      resolutionFailed(uri, reason, category, { mcp_server_name: name, ...details })
    const resource = owner.resources.find((one) => isSameUri(uriOf(one), uri))
    const listedUri = resource === undefined ? uri : uriOf(resource)
    const contents = yield* Effect.mapError(owner.session.readResource(listedUri), ({ message }) =>
      failed("the MCP server failed to read it", "upstream_unavailable", { mcp_error: message })
    )
    const mimeType = asString(resource?.["mimeType"] ?? contents[0]?.["mimeType"])
    const hint = { mcpServerName: name, mimeType, agent, reqId }
    const resolved = yield* Effect.suspend(() => resolver({ uri, contents, resource, hint })).pipe(
      Effect.tapCause((cause) => Effect.logWarning("document resolver failed", { uri }, cause)),
      Effect.catchCause(() => Effect.fail(failed("the resolver failed", "resolver_error")))
    )
    return typeof resolved?.uri === "string" && resolved.uri !== ""
      ? { ...resolved, reqId }
      : yield* failed("the resolver gave no URI", "resolver_returned_invalid")
  })

  /** Resolves a document to a location that the Agent can fetch (spec §10.2). */
  return Effect.fn("Documents.dpe")(function* (request: CallRequest<"getDpe">) {
    const parsed = parseDpeUri(request.uri)
    if (Result.isFailure(parsed)) {
      const { reason, uri } = parsed.failure
      const code = errorCodes.invalidDpeUri
      return yield* new ProtocolError({ code, message: "Invalid DPE URI", extra: { uri, reason } })
    }
    if (resolveDpe === undefined) {
      const code = errorCodes.resolverNotConfigured
      return yield* new ProtocolError({ code, message: "DPE Resolver Not Configured", extra: { uri: request.uri } })
    }
    const { isTrimmed, uri } = parsed.success
    if (isTrimmed) yield* Effect.logWarning("document URI query and fragment ignored", { uri: request.uri })
    return yield* resolve(request, parsed.success, resolveDpe).pipe(
      Effect.timeoutOrElse({
        duration: Duration.seconds(request.timeout ?? defaultDpeTimeoutSeconds),
        orElse: () => Effect.fail(resolutionFailed(uri, "the resolution timed out"))
      })
    )
  })
}

/** Makes the search of documents; `history` names the servers of recent calls, oldest first. */
const makeSearch = (
  servers: ServerSupervisor,
  readTimeout: Duration.Duration,
  history: () => ReadonlyArray<string>
) => {
  /** Summarizes a document from its listing or, where the listing has no page count, from its body. */
  const summaryOf = Effect.fnUntraced(function* (
    server: OfferedServer,
    uri: DpeUri,
    resource: JsonObject,
    timeLeft: Effect.Effect<Duration.Duration>
  ) {
    const name = servers.identify(server.config.name)
    if (listedPageCount(resource) !== undefined) return summarizeDocument(name, uri, resource)
    const session = backgroundSessionOf(server)
    if (session === undefined) return undefined
    const remaining = yield* timeLeft
    if (Duration.isZero(remaining)) return undefined
    const contents = yield* Effect.option(Effect.timeout(session.readResource(uriOf(resource)), remaining))
    const body = Option.flatMap(contents, parseDocumentBody)
    return summarizeDocument(name, uri, resource, Option.getOrUndefined(body))
  })

  /** Searches the documents (spec §11). Documents that time out are skipped. */
  return Effect.fn("Documents.find")(function* (request: CallRequest<"findDocuments">) {
    // All servers share one timeout: a server with many slow documents must not hide the documents of others.
    const remaining = yield* startCountdown(readTimeout)
    const documents = yield* servers.readShown(
      "documents",
      Effect.fnUntraced(function* (resource, server) {
        const uri = parseDocumentUri(uriOf(resource))
        if (uri === undefined) return []
        const summary = yield* summaryOf(server, uri, resource, remaining)
        if (summary !== undefined) return [summary]
        yield* isIdle(server)
          ? Effect.logDebug("document skipped", { uri: uri.uri, reason: "lazy_server_idle" })
          : Effect.logWarning("document skipped", { uri: uri.uri, reason: "no_page_count_or_timeout" })
        return []
      })
    )
    return { ...findDocuments(documents, request, history()), reqId: request.reqId }
  })
}

/** Makes the documents of a Computer; `history` names the servers of recent calls, oldest first. */
export const makeDocuments = Effect.fnUntraced(function* (
  servers: ServerSupervisor,
  history: () => ReadonlyArray<string>
) {
  const { readTimeout, resolveDpe } = yield* ComputerSettings
  return {
    getResources: makeResourcePages(servers, readTimeout),
    getDpe: makeResolution(servers, resolveDpe),
    find: makeSearch(servers, readTimeout, history)
  }
})
