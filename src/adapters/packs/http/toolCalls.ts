import type { IncomingMessage, ServerResponse } from "node:http"
import { Duration, Effect, Schema, SchemaIssue, Semaphore } from "effect"
import type { PackHost } from "../../../application/packs/PackHost.ts"
import type { HostedRoute } from "../../../application/packs/PackTable.ts"
import type { PackCall } from "../../../application/ports/packs/PackLoader.ts"
import { withCallTimeout } from "../../../application/packs/RunningPack.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { ExecutionRequest } from "../../../domain/packs/packExecution.ts"
import { problemsFromStandardIssues } from "../../../domain/packs/params/paramsProblems.ts"
import type { PackRoute } from "../../../domain/packs/PackManifest.ts"
import { type PendingRequest, makePendingRequest } from "../../http/messages.ts"
import { parseContentType, readJson, readMultipart, readUrlEncoded } from "./requestParams.ts"
import {
  busyReply,
  callErrorReply,
  reject,
  rejectParams,
  RequestRejected,
  resultReply,
  socketTimeoutMillis
} from "./reply.ts"

/** Limits of the parameters of a call, and the folder for its files. */
export interface UploadLimits {
  /** A body without files; 1 MiB by default. */
  readonly maxBodyBytes: number
  /** One file; 100 MiB by default. */
  readonly maxFileBytes: number
  /** A form with files; 256 MiB by default, and at least 16 MiB more than one file. */
  readonly maxFormBytes: number
  /** Parent of the temporary folder of each call; the system's by default. */
  readonly uploadFolder: string
}

const decodeExecution = Schema.decodeUnknownEffect(ExecutionRequest, { errors: "all" })
const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const mebibyte = 1024 * 1024

const formOverheadBytes = 16 * mebibyte

/** Concurrent forms with files, which are stored on disk. */
const maxUploads = 32

const requiredFile = ({ files, params: { required } }: PackRoute): string | undefined =>
  Object.keys(files).find((name) => Array.isArray(required) && required.includes(name))

/** Says why a body is unsupported on every route; undefined when it is supported. */
const bodyTypeError = ({ headers }: IncomingMessage, charset: string | undefined): string | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return `Content-Encoding ${encoding} is not supported: send the body uncompressed`
  }
  return charset === undefined || charset === "utf-8" || charset === "utf8" ? undefined : "The body must be UTF-8"
}

export const makeToolCallHandler = (
  host: PackHost["Service"],
  {
    maxBodyBytes = mebibyte,
    maxFileBytes = 100 * mebibyte,
    maxFormBytes = Math.max(256 * mebibyte, maxFileBytes + formOverheadBytes),
    uploadFolder
  }: Partial<UploadLimits>
) => {
  const uploads = Semaphore.makeUnsafe(maxUploads)
  const tooManyUploads = new RequestRejected({ reply: busyReply("Too many uploads in progress; try again later") })
  /** Reserves one of the upload slots until the scope closes. */
  const acquireUploadSlot = Effect.acquireRelease(
    Effect.flatMap(uploads.takeIfAvailable(1), (taken) => (taken ? Effect.void : tooManyUploads)),
    () => uploads.release(1)
  )

  const readCallParams = Effect.fnUntraced(function* (route: PackRoute, body: PendingRequest) {
    const { useForm } = route
    const { charset, name } = parseContentType(body.request)
    const error = bodyTypeError(body.request, charset)
    if (error !== undefined) return yield* reject(415, error)
    if (useForm && name === "multipart/form-data") {
      yield* acquireUploadSlot
      return yield* readMultipart(body, route, { maxFileBytes, maxFormBytes, uploadFolder })
    }
    const missingFile = useForm ? requiredFile(route) : undefined
    if (missingFile !== undefined) {
      return yield* reject(415, `The file '${missingFile}' is required: send a form as multipart/form-data`)
    }
    if (useForm && name === "application/x-www-form-urlencoded") return yield* readUrlEncoded(body, maxBodyBytes)
    if (/^application\/([^\s/]+\+)?json$/.test(name)) return yield* readJson(body, maxBodyBytes)
    const accepted = useForm ? "a form (multipart/form-data) or JSON" : "JSON (application/json)"
    return yield* reject(415, `The parameters must be ${accepted}`)
  })

  /** The call in the body of `POST {endpoint}/execute`. */
  const readExecution = Effect.fnUntraced(function* (route: PackRoute, body: PendingRequest) {
    const { params: given } = yield* readJson(body, maxBodyBytes)
    const { options, payload, session, task } = yield* Effect.mapError(decodeExecution(given), ({ issue }) =>
      reject(422, problemsFromStandardIssues(formatIssues(issue).issues, given))
    )
    if (route.requiresSession === true && session === undefined) {
      return yield* rejectParams("This tool needs a session", ["session"], "missing")
    }
    const execution = { ...task, ...session, ...definedOnly({ ...options }) }
    return { params: payload, form: false, files: {}, execution }
  })

  /** The reply is undefined when the client has disconnected. */
  return (hosted: HostedRoute, request: IncomingMessage, response: ServerResponse, isExecution: boolean) => {
    const { socket } = request
    // A call has its own timeout.
    const suspendSocketTimeout = Effect.acquireRelease(
      Effect.sync(() => void socket.setTimeout(0)),
      () => Effect.sync(() => void socket.setTimeout(socketTimeoutMillis))
    )
    return Effect.gen(function* () {
      const body = makePendingRequest(request, response)
      const read = isExecution ? readExecution : readCallParams
      const call: Omit<PackCall, "tool"> = yield* read(hosted.route, body)
      yield* suspendSocketTimeout
      const { timeout = Number.POSITIVE_INFINITY } = call.execution ?? {}
      return resultReply(yield* withCallTimeout(Duration.seconds(timeout))(host.call(hosted, call)))
    }).pipe(
      Effect.scoped,
      Effect.catchTags({
        RequestRejected: ({ reply }) => Effect.succeed(reply),
        ClientDisconnected: () => Effect.undefined
      }),
      Effect.catch((error) => Effect.succeed(callErrorReply(error)))
    )
  }
}
