import { Clock, Duration, Effect, Option, Result } from "effect"
import { type DpeUri, normalizeHost, parseDpeUri } from "../../../domain/documents/DpeUri.ts"
import {
  parseDocumentBody,
  parseDocumentUri,
  findDocuments,
  type FinderPage,
  listedPageCount,
  summarizeDocument
} from "../../../domain/documents/findDocuments.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type {
  DocumentLocation,
  DpeRequest,
  FinderRequest,
  ResourcePage,
  ResourcesRequest
} from "../../../domain/model/requests.ts"
import type { DocumentSummary } from "../../../domain/model/DocumentSummary.ts"
import {
  capabilityNotSupported,
  errorCodes,
  mcpServerNotFound,
  ProtocolError
} from "../../../domain/model/ProtocolError.ts"
import type { McpSessionError } from "../../ports/McpSession.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { RunningMcpServer } from "../servers/ServersSnapshot.ts"
import { type ServerSupervisor, listingTimedOut } from "../servers/ServerSupervisor.ts"

/** The documents and other resources of a Computer's MCP servers. */
export interface Documents {
  /** One page of one server's resources, as they are (spec §10.5). */
  readonly getResources: (
    request: ResourcesRequest
  ) => Effect.Effect<ResourcePage & { readonly reqId: string }, ProtocolError>
  /** Where a document can be fetched (spec §10.2). */
  readonly getDpe: (
    request: DpeRequest
  ) => Effect.Effect<DocumentLocation & { readonly reqId: string }, ProtocolError>
  /** The catalogue of documents (spec §11). Those that cannot be read in time are left out. */
  readonly find: (request: FinderRequest) => Effect.Effect<FinderPage>
}

/** How long a document may take when its request does not say. */
const defaultDpeSeconds = 60

/** How many document bodies of one server are read at once. */
const maxConcurrentReads = 16

const uriOf = ({ uri }: JsonObject): string => (typeof uri === "string" ? uri : "")

const hostsOf = ({ resources }: RunningMcpServer): ReadonlySet<string> =>
  new Set(
    resources.flatMap((resource) => {
      const parsed = parseDpeUri(uriOf(resource))
      return Result.isSuccess(parsed) ? [normalizeHost(parsed.success.host)] : []
    })
  )

const resolutionFailed = (
  uri: string,
  reason: string,
  category?: string,
  details?: JsonObject
): ProtocolError =>
  new ProtocolError({
    code: errorCodes.dpeResolutionFailed,
    message: "DPE Resolution Failed",
    extra: { uri, reason, ...(category !== undefined && { category }) },
    ...(details !== undefined && { details })
  })

/** The documents of a pool; `history` names the servers of past calls, oldest first. */
export const makeDocuments = Effect.fnUntraced(function* (
  servers: ServerSupervisor,
  history: () => ReadonlyArray<string>
): Effect.fn.Return<Documents> {
  const { readTimeout, resolveDpe } = yield* ComputerSettings

  const getResources = Effect.fnUntraced(function* ({ cursor, mcpServer, reqId }: ResourcesRequest) {
    const server = servers.find(mcpServer)
    if (server === undefined) return yield* mcpServerNotFound(mcpServer)
    if (!server.session.info.capabilities.resources) {
      return yield* capabilityNotSupported(mcpServer, "resources")
    }
    const { items, nextCursor } = yield* server.session.listResources(cursor).pipe(
      Effect.timeoutOrElse({ duration: readTimeout, orElse: () => Effect.fail(listingTimedOut) }),
      Effect.mapError(
        ({ message }) =>
          new ProtocolError({
            code: errorCodes.internalError,
            message: `MCP Server '${mcpServer}' failed to list its resources`,
            details: { mcp_error: message },
            extra: { mcp_server_name: mcpServer }
          })
      )
    )
    return { resources: items, reqId, ...(nextCursor !== undefined && { nextCursor }) }
  })

  const ownersOf = (host: string): ReadonlyArray<RunningMcpServer> =>
    servers.running().filter((server) => hostsOf(server).has(normalizeHost(host)))

  /** The server that owns a host: the first in configuration order (spec §10.3). */
  const ownerOf = Effect.fnUntraced(function* (host: string) {
    let owners = ownersOf(host)
    if (owners.length === 0) {
      yield* Effect.forEach(servers.running(), (server) => Effect.ignore(servers.refreshResources(server)), {
        concurrency: "unbounded",
        discard: true
      })
      owners = ownersOf(host)
    }
    const [owner, ...others] = owners
    if (others.length > 0) {
      yield* Effect.logWarning("several servers have this document host; the first one is asked", {
        host,
        servers: owners.map(({ config }) => config.name)
      })
    }
    return owner
  })

  const resolve = Effect.fnUntraced(function* (
    { agent, reqId }: DpeRequest,
    { host, uri }: DpeUri,
    resolver: NonNullable<typeof resolveDpe>
  ) {
    const owner = yield* ownerOf(host)
    if (owner === undefined) {
      return yield* resolutionFailed(uri, `no MCP server has documents of host '${host}'`)
    }
    const { name } = owner.config
    const resource = owner.resources.find((one) => uriOf(one) === uri)
    const contents = yield* Effect.mapError(owner.session.readResource(uri), ({ message }: McpSessionError) =>
      resolutionFailed(uri, "the MCP server cannot be read", "upstream_unavailable", {
        mcp_server_name: name,
        mcp_error: message
      })
    )
    const listed = resource?.["mimeType"] ?? contents[0]?.["mimeType"]
    const mimeType = typeof listed === "string" ? listed : undefined
    const resolved = yield* Effect.catchCause(
      Effect.suspend(() =>
        resolver({ uri, contents, resource, hint: { mcpServerName: name, mimeType, agent, reqId } })
      ),
      (cause) =>
        Effect.andThen(
          Effect.logWarning("document resolver failed", { uri }, cause),
          Effect.fail(
            resolutionFailed(uri, "the resolver failed", "resolver_error", { mcp_server_name: name })
          )
        )
    )
    return typeof resolved?.uri === "string" && resolved.uri !== ""
      ? { ...resolved, reqId }
      : yield* resolutionFailed(uri, "the resolver gave no URI", "resolver_returned_invalid", {
          mcp_server_name: name
        })
  })

  const getDpe = Effect.fn("Documents.dpe")(function* (request: DpeRequest) {
    const parsed = parseDpeUri(request.uri)
    if (Result.isFailure(parsed)) {
      const { reason, uri } = parsed.failure
      return yield* new ProtocolError({
        code: errorCodes.invalidDpeUri,
        message: "Invalid DPE URI",
        extra: { uri, reason }
      })
    }
    if (resolveDpe === undefined) {
      return yield* new ProtocolError({
        code: errorCodes.resolverNotConfigured,
        message: "DPE Resolver Not Configured",
        extra: { uri: request.uri }
      })
    }
    if (parsed.success.isTrimmed) {
      yield* Effect.logWarning("query or fragment of a document URI dropped", { uri: request.uri })
    }
    return yield* resolve(request, parsed.success, resolveDpe).pipe(
      Effect.timeoutOrElse({
        duration: Duration.seconds(request.timeout ?? defaultDpeSeconds),
        orElse: () => Effect.fail(resolutionFailed(parsed.success.uri, "it took too long"))
      })
    )
  })

  /**
   * The summary of a document, from its listing or, where that is silent, from its body; `deadline` in milliseconds
   * since 1970.
   */
  const summaryOf = Effect.fnUntraced(function* (
    server: RunningMcpServer,
    uri: DpeUri,
    resource: JsonObject,
    deadline: number
  ) {
    const { name } = server.config
    if (listedPageCount(resource) !== undefined) return summarizeDocument(name, uri, resource)
    const remaining = deadline - (yield* Clock.currentTimeMillis)
    if (remaining <= 0) return undefined
    const contents = yield* server.session.readResource(uriOf(resource)).pipe(
      Effect.timeoutOption(Duration.millis(remaining)),
      Effect.catch(() => Effect.succeedNone)
    )
    const body = Option.flatMap(contents, parseDocumentBody)
    return summarizeDocument(name, uri, resource, Option.getOrUndefined(body))
  })

  const documentsOf = Effect.fnUntraced(function* (server: RunningMcpServer, deadline: number) {
    const documents = yield* Effect.forEach(
      yield* servers.freshResources(server, "documents"),
      Effect.fnUntraced(function* (resource) {
        const uri = parseDocumentUri(uriOf(resource))
        if (uri === undefined) return []
        const summary = yield* summaryOf(server, uri, resource, deadline)
        if (summary !== undefined) return [summary]
        yield* Effect.logWarning("document left out: it states no page count, or not in time", {
          uri: uri.uri
        })
        return []
      }),
      { concurrency: maxConcurrentReads }
    )
    return documents.flat()
  })

  const find = Effect.fn("Documents.find")(function* (request: FinderRequest) {
    // One for all: a server of many documents that hangs must not hide those of the others.
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(readTimeout)
    const documents: ReadonlyArray<ReadonlyArray<DocumentSummary>> = yield* Effect.forEach(
      servers.shown(),
      (server) => documentsOf(server, deadline),
      { concurrency: "unbounded" }
    )
    return findDocuments(documents.flat(), request, history())
  })

  return { getResources, getDpe, find }
})
