import { Effect } from "effect"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { type OperatorRequest, type OperatorRequests, operatorRequests } from "../../../domain/page/operatorRequests.ts"
import { type Body, decodeBody, jsonBody } from "../../ports/Body.ts"

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
