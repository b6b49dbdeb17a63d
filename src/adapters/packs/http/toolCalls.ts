import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import type { PackHost } from "../../../application/packs/PackHost.ts"
import type { HostedRoute } from "../../../application/packs/PackView.ts"
import type { PackCall } from "../../../application/ports/packs/PackLoader.ts"
import type { PackRoute } from "../../../domain/packs/PackManifest.ts"
import { parseContentType, type PendingRequest, makePendingRequest, readJson } from "./requestBody.ts"
import { socketTimeoutMillis } from "./sendReply.ts"
import { readMultipart, readUrlEncoded } from "./formBody.ts"
import {
  busyReply,
  callErrorReply,
  type ClientDisconnected,
  reject,
  RequestRejected,
  type Reply,
  resultReply
} from "./reply.ts"

/** How large the parameters of a call may be, and where its files are kept. */
export interface UploadLimits {
  /** A body without files, in bytes; 1 MiB unless set. */
  readonly maxBodyBytes: number
  /** One file, in bytes; 100 MiB unless set. */
  readonly maxFileBytes: number
  /** A whole form with files, in bytes; 256 MiB unless set, and room for one of the largest files at least. */
  readonly maxFormBytes: number
  /** The folder in which files are kept as long as their call lasts; the system's for such files unless set. */
  readonly uploadFolder: string
}

const mebibyte = 1024 * 1024

/** What a form needs beside its largest file, in bytes. */
const formOverheadBytes = 16 * mebibyte

/** How many forms with files may be there at once: all of them are on disk. */
const maxUploads = 32

/** A connection that waits for its call is not silent: the call has limits of its own. */
const noTimeout = 0

type CallParams = Omit<PackCall, "tool">

/** The name of a file without which a tool cannot be called. */
const requiredFile = ({ files, params: { required } }: PackRoute): string | undefined =>
  Object.keys(files).find((name) => Array.isArray(required) && required.includes(name))

const unsupportedMediaType = (detail: string) => Effect.fail(reject(415, detail))

/** What is wrong with the kind of a body, whatever its route; undefined when nothing is. */
const bodyTypeError = ({ headers }: IncomingMessage, charset: string | undefined): string | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return `Content-Encoding ${encoding} is not supported: send the body uncompressed`
  }
  return charset === undefined || charset === "utf-8" || charset === "utf8"
    ? undefined
    : "The body must be UTF-8"
}

/** Makes what answers a request that calls a tool, as far as its answer is known. */
export const makeToolCallHandler = (
  host: PackHost["Service"],
  {
    maxBodyBytes = mebibyte,
    maxFileBytes = 100 * mebibyte,
    maxFormBytes = Math.max(256 * mebibyte, maxFileBytes + formOverheadBytes),
    uploadFolder
  }: Partial<UploadLimits>
) => {
  let activeUploads = 0
  /** Holds one of the places that there are for forms with files, until the scope closes. */
  const acquireUploadSlot = Effect.suspend(() => {
    if (activeUploads >= maxUploads) {
      return new RequestRejected({ reply: busyReply("Too many uploads in progress; try again later") })
    }
    activeUploads++
    return Effect.addFinalizer(() => Effect.sync(() => activeUploads--))
  })

  const readFormBody = Effect.fnUntraced(function* (route: PackRoute, body: PendingRequest) {
    yield* acquireUploadSlot
    return yield* readMultipart(body, route, { maxFileBytes, maxFormBytes }, uploadFolder)
  })

  /** The parameters of a call, from a body of whichever kind the route takes. */
  const readCallParams = (
    route: PackRoute,
    body: PendingRequest
  ): Effect.Effect<CallParams, RequestRejected | ClientDisconnected, Scope.Scope> => {
    const { charset, name = "application/json" } = parseContentType(body.request) ?? {}
    const error = bodyTypeError(body.request, charset)
    if (error !== undefined) return unsupportedMediaType(error)
    const { useForm } = route
    if (useForm && name === "multipart/form-data") {
      return Effect.map(readFormBody(route, body), (params) => ({ ...params, form: true }))
    }
    const missingFile = useForm ? requiredFile(route) : undefined
    if (missingFile !== undefined) {
      return unsupportedMediaType(`The file '${missingFile}' is required: send a form as multipart/form-data`)
    }
    if (useForm && name === "application/x-www-form-urlencoded") {
      return Effect.map(readUrlEncoded(body, maxBodyBytes), (params) => ({ ...params, form: true }))
    }
    if (name === "application/json" || /^application\/[^\s/]+\+json$/.test(name)) {
      return Effect.map(readJson(body, maxBodyBytes), (args) => ({ args, files: {}, form: false }))
    }
    return unsupportedMediaType(
      `The parameters must be ${useForm ? "a form (multipart/form-data) or JSON" : "JSON (application/json)"}`
    )
  }

  /** Undefined when nobody is there any more. Whatever the call needed is gone when this ends. */
  return (
    hosted: HostedRoute,
    request: IncomingMessage,
    response: ServerResponse
  ): Effect.Effect<Reply | undefined> => {
    const { socket } = request
    const suspendSocketTimeout = Effect.acquireRelease(
      Effect.sync(() => void socket.setTimeout(noTimeout)),
      () => Effect.sync(() => void socket.setTimeout(socketTimeoutMillis))
    )
    return Effect.gen(function* () {
      const params = yield* readCallParams(hosted.route, makePendingRequest(request, response))
      yield* suspendSocketTimeout
      return resultReply(yield* host.call(hosted, params))
    }).pipe(
      Effect.scoped,
      Effect.catchTags({
        RequestRejected: ({ reply }) => Effect.succeed(reply),
        ClientDisconnected: () => Effect.undefined,
        PackError: (error) => Effect.succeed(callErrorReply(error)),
        PackTimeoutError: (error) => Effect.succeed(callErrorReply(error)),
        PackBusyError: (error) => Effect.succeed(callErrorReply(error))
      })
    )
  }
}
