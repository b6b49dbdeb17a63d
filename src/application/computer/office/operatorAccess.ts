import { Deferred, Effect } from "effect"
import type { MemberFeature } from "../../../domain/office/memberFeatures.ts"
import { stderrBounds } from "../../../domain/page/Inspection.ts"
import type { RemoteApprover } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { type OperatorRequest, type OperatorRequests, operatorRequests } from "../../../domain/page/operatorRequests.ts"
import { type Body, decodeBody, jsonBody } from "../../ports/Body.ts"

/** What the operators of the Server may see and do at a Computer; the states of its MCP servers by default. */
export interface ComputerOperatorAccess {
  /** They see the states of the MCP servers, why they fail, and which tools need consent; true by default. */
  readonly states?: boolean
  /** They see the last lines that MCP servers write to stderr; false by default. */
  readonly stderr?: boolean
  /** They may call tools while the office has an Agent, with the consent that an Agent needs; false by default. */
  readonly calls?: boolean
}

/** The features that a Computer announces to its Server. */
export const featuresOf = (
  { calls = false, states = true }: ComputerOperatorAccess,
  approvers: ReadonlyArray<RemoteApprover>
): ReadonlyArray<MemberFeature> => [
  "operator_names",
  ...(states ? (["inspection"] as const) : []),
  ...(calls ? (["operator_calls"] as const) : []),
  ...(approvers.includes("page") ? (["approvals"] as const) : [])
]

export type ServerOutputs = ReturnType<typeof makeServerOutputs>

/** Keeps the last lines of stderr, redacted, where the Computer shares them. */
export const makeServerOutputs = ({ redact }: Secrets, { stderr = false }: ComputerOperatorAccess) => {
  const lines = new Map<string, ReadonlyArray<string>>()
  let next = Deferred.makeUnsafe<void>()
  const wake = () => {
    const woken = next
    // Before: what wakes may wait again at once.
    next = Deferred.makeUnsafe()
    Deferred.doneUnsafe(woken, Effect.void)
  }
  return {
    record: (server: string, line: string): void => {
      if (!stderr) return
      const shown = redact(line).slice(0, stderrBounds.characters).toWellFormed()
      lines.set(server, [...(lines.get(server) ?? []), shown].slice(-stderrBounds.lines))
      wake()
    },
    /** The last lines of a server; undefined where the Computer does not share them. */
    linesOf: (server: string): ReadonlyArray<string> | undefined => (stderr ? (lines.get(server) ?? []) : undefined),
    /** Resolves with the next line, or {@link wake}. */
    changed: Effect.suspend(() => Deferred.await(next)),
    wake
  }
}

/** Gives the whole reply, and a shorter one for when it does not fit into a message. */
type OperatorHandler<Row> =
  Row extends OperatorRequest<infer Request, infer Reply>
    ? (request: Request) => Effect.Effect<readonly [whole: Reply, short?: Reply], ProtocolError>
    : never

/** What a Computer does for its operators, as far as its owner permits it. */
export type OperatorHandlers = { readonly [K in keyof OperatorRequests]?: OperatorHandler<OperatorRequests[K]> }

/** A row without the types of its messages. */
type AnyRow = OperatorRequest<object, object>

/** The handlers of bodies, by their events. */
export const toBodyHandlers = (
  handlers: OperatorHandlers,
  fits: (reply: Body) => boolean
): ReadonlyArray<readonly [event: string, (body: Body) => Effect.Effect<Body, ProtocolError>]> =>
  Object.entries(handlers).map(([name, handler]) => {
    // The handler of a row takes the messages of this row.
    const row = operatorRequests[name as keyof OperatorRequests] as unknown as AnyRow
    const handle = handler as OperatorHandler<AnyRow>
    return [
      row.event,
      Effect.fnUntraced(function* (body) {
        const [whole, short] = yield* handle(yield* Effect.fromResult(decodeBody(body, row.request.decode)))
        const reply = jsonBody(row.reply.encode(whole))
        return short === undefined || fits(reply) ? reply : jsonBody(row.reply.encode(short))
      })
    ]
  })
