import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import type { HostedRoute, PackHost } from "../../../application/packs/PackHost.ts"
import type { PackCall } from "../../../application/ports/PackLoader.ts"
import type { PackRoute } from "../../../domain/packs/offer.ts"
import { bodyType, type Incoming, incoming, readJson } from "./body.ts"
import { silence } from "./connection.ts"
import { readMultipart, readUrlEncoded } from "./form.ts"
import { busyReply, failureReply, type Gone, refuse, Refused, type Reply, resultReply } from "./reply.ts"

/** How large the parameters of a call may be, and where its files are kept. */
export interface CallLimits {
  /** A body without files, in bytes; 1 MiB unless set. */
  readonly largestBody: number
  /** One file, in bytes; 100 MiB unless set. */
  readonly largestFile: number
  /** A whole form with files, in bytes; 256 MiB unless set, and room for one of the largest files at least. */
  readonly largestForm: number
  /** The folder in which files are kept as long as their call lasts; the system's for such files unless set. */
  readonly uploadFolder: string
}

const mebibyte = 1024 * 1024

/** What a form needs beside its largest file, in bytes. */
const besideFile = 16 * mebibyte

/** How many forms with files may be there at once: all of them are on disk. */
const mostUploads = 32

/** A connection that waits for its call is not silent: the call has limits of its own. */
const noTimeout = 0

type Parameters = Omit<PackCall, "tool">

/** The name of a file without which a tool cannot be called. */
const neededFile = ({ files, params: { required } }: PackRoute): string | undefined =>
  Object.keys(files).find((name) => Array.isArray(required) && required.includes(name))

const unsupported = (detail: string) => Effect.fail(refuse(415, detail))

/** What is wrong with the kind of a body, whatever its route; undefined when nothing is. */
const strange = ({ headers }: IncomingMessage, charset: string | undefined): string | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return `The body is compressed (${encoding}): send it as it is`
  }
  return charset === undefined || charset === "utf-8" || charset === "utf8"
    ? undefined
    : "The body must be UTF-8"
}

/** Makes what answers a request that calls a tool, as far as its answer is known. */
export const makeToolCalls = (
  host: PackHost["Service"],
  {
    largestBody = mebibyte,
    largestFile = 100 * mebibyte,
    largestForm = Math.max(256 * mebibyte, largestFile + besideFile),
    uploadFolder
  }: Partial<CallLimits>
) => {
  let uploads = 0
  /** Holds one of the places that there are for forms with files, until the scope closes. */
  const takePlace = Effect.suspend(() => {
    if (uploads >= mostUploads) {
      return new Refused({ reply: busyReply("Too many files are being worked on; try again later") })
    }
    uploads++
    return Effect.addFinalizer(() => Effect.sync(() => uploads--))
  })

  const readForm = Effect.fnUntraced(function* (route: PackRoute, body: Incoming) {
    yield* takePlace
    return yield* readMultipart(body, route, { largestFile, largestForm }, uploadFolder)
  })

  /** The parameters of a call, from a body of whichever kind the route takes. */
  const read = (route: PackRoute, body: Incoming): Effect.Effect<Parameters, Refused | Gone, Scope.Scope> => {
    const { charset, name = "application/json" } = bodyType(body.request) ?? {}
    const fault = strange(body.request, charset)
    if (fault !== undefined) return unsupported(fault)
    const { useForm } = route
    if (useForm && name === "multipart/form-data") {
      return Effect.map(readForm(route, body), (params) => ({ ...params, form: true }))
    }
    const needed = useForm ? neededFile(route) : undefined
    if (needed !== undefined) {
      return unsupported(`The file '${needed}' is needed: send a form, as multipart/form-data`)
    }
    if (useForm && name === "application/x-www-form-urlencoded") {
      return Effect.map(readUrlEncoded(body, largestBody), (params) => ({ ...params, form: true }))
    }
    if (name === "application/json" || /^application\/[^\s/]+\+json$/.test(name)) {
      return Effect.map(readJson(body, largestBody), (args) => ({ args, files: {}, form: false }))
    }
    return unsupported(
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
    const waiting = Effect.acquireRelease(
      Effect.sync(() => void socket.setTimeout(noTimeout)),
      () => Effect.sync(() => void socket.setTimeout(silence))
    )
    return Effect.gen(function* () {
      const params = yield* read(hosted.route, incoming(request, response))
      yield* waiting
      return resultReply(yield* host.call(hosted, params))
    }).pipe(
      Effect.scoped,
      Effect.catchTags({
        Refused: ({ reply }) => Effect.succeed(reply),
        Gone: () => Effect.undefined,
        PackFailure: (failure) => Effect.succeed(failureReply(failure)),
        PackTimeout: (failure) => Effect.succeed(failureReply(failure)),
        PackBusy: (failure) => Effect.succeed(failureReply(failure))
      })
    )
  }
}
