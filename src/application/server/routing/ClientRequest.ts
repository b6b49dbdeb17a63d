import type { Effect } from "effect"
import type { EventDefinition } from "../../../domain/wire/lines.ts"
import type { Body } from "../../ports/Body.ts"
import type { Reply } from "../../ports/Transport.ts"
import type { Connection } from "../connections/Connection.ts"

/** One message of a client; `definition` is missing when its protocol line does not know the event. */
export interface ClientRequest {
  readonly connection: Connection
  readonly event: string
  readonly definition: EventDefinition | undefined
  readonly body: Body
}

/** Handles a request and gives its acknowledgement. It never fails. */
export type RequestHandler = (request: ClientRequest) => Effect.Effect<Reply>
