import { Result, type Schema } from "effect"
import { type TargetRequest, targetFields } from "../model/messages/requests.ts"
import type { ProtocolError } from "../model/ProtocolError.ts"
import { type Codec, makeCodec } from "../validation.ts"
import { wireStruct } from "../model/wireStruct.ts"
import type { ComputerName, RequestId } from "../model/ids.ts"

/** What the Server needs to route a request. */
export interface RoutingInfo {
  /** The name of the sender, as the request states it. */
  readonly agent: string
  readonly computer: ComputerName
  readonly reqId: RequestId
  readonly timeoutSeconds: number | undefined
}

/** The Server's side of a request to a Computer: its target, its timeout, and whether it can be cancelled. */
export interface RoutedDefinition {
  readonly kind: "call"
  readonly event: string
  /** Other spellings of the event in the protocol's documents. */
  readonly aliases: ReadonlyArray<string>
  readonly from: "agent"
  readonly decodeRouting: (head: unknown) => Result.Result<RoutingInfo, string>
  /** True when the Agent can cancel it by its request id. */
  readonly cancellable: boolean
}

export interface CallDefinition<Request, Reply> extends RoutedDefinition {
  readonly request: Codec<Request>
  readonly reply: Codec<Reply>
  /** How long its Computer may take, in seconds; `undefined` for as long as the Server's default. */
  readonly timeoutSeconds: (request: Request) => number | undefined
  /** True for a request that is not part of the protocol: only sent to Computers that know it. */
  readonly isExtension: boolean
}

/** A row of the table of requests, apart from the method. */
interface CallParts<F extends Schema.Struct.Fields, Reply>
  extends Pick<CallDefinition<RequestWith<F>, Reply>, "event" | "reply">,
    Partial<
      Pick<
        CallDefinition<RequestWith<F>, Reply>,
        "aliases" | "cancellable" | "isExtension" | "request" | "timeoutSeconds"
      >
    > {
  /** The fields of the request beside its target. */
  readonly fields: F
  /** Members of the request with another name on the wire than the field in snake case. */
  readonly names?: { readonly [K in keyof F]?: string }
  /** Decodes the routing of valid requests without the schema; `undefined` falls back to the schema. */
  readonly decodeRoutingFast?: (head: unknown) => RoutingInfo | undefined
}

/** The fields of a request beside its target. */
type FieldsOf<F extends Schema.Struct.Fields> = Schema.Struct<F>["Type"]

type RequestWith<F extends Schema.Struct.Fields> = TargetRequest & FieldsOf<F>

/** Defines a request to a Computer. */
export const defineCall = <const F extends Schema.Struct.Fields, Reply>({
  aliases = [],
  cancellable = false,
  decodeRoutingFast,
  event,
  fields,
  isExtension = false,
  names = {},
  reply,
  request = makeCodec(wireStruct({ ...targetFields, ...fields }, names)) as unknown as Codec<RequestWith<F>>,
  timeoutSeconds = () => undefined
}: CallParts<F, Reply>): CallDefinition<RequestWith<F>, Reply> => ({
  kind: "call",
  event,
  aliases,
  from: "agent",
  request,
  reply,
  timeoutSeconds,
  decodeRouting: (head) => {
    const fast = decodeRoutingFast?.(head)
    if (fast !== undefined) return Result.succeed(fast)
    return Result.map(request.decode(head), (decoded) => {
      const { agent, computer, reqId } = decoded
      return { agent, computer, reqId, timeoutSeconds: timeoutSeconds(decoded) }
    })
  },
  cancellable,
  isExtension
})

/** Leaves out the request id of a reply, which only its sender needs. */
type WithoutReqId<Reply> = Omit<Reply, "reqId">

/** A row that Agents offer as a method with the name of the row. */
interface MethodParts<
  F extends Schema.Struct.Fields,
  Reply,
  Args extends ReadonlyArray<unknown>,
  Named,
  A,
  OnPage extends boolean
> extends CallParts<F, Reply> {
  /** Names the arguments of the method. The other fields are members of a last argument, `options`. */
  readonly toFields: (...args: Args) => Named
  /** Fields that are sent where `options` has none. */
  readonly defaults?: Partial<FieldsOf<F>>
  /** The error of a request that its Computer would reject. */
  readonly check?: (request: RequestWith<F>) => ProtocolError | undefined
  /** What the method gives of the reply. */
  readonly toResult: (reply: WithoutReqId<Reply>) => A
  /** True when the office page sends it for its operators. */
  readonly onPage?: OnPage
}

/** Defines a request to a Computer that is a method of Agents. */
export const defineMethod = <
  const F extends Schema.Struct.Fields,
  Reply,
  Args extends ReadonlyArray<unknown>,
  Named extends { readonly computer: ComputerName },
  A,
  const OnPage extends boolean = false
>({
  check = () => undefined,
  defaults = {},
  onPage = false as OnPage,
  toFields,
  toResult,
  ...parts
}: MethodParts<F, Reply, Args, Named, A, OnPage>) => ({
  ...defineCall(parts),
  method: { fields: parts.fields, toFields, defaults, check, toResult, onPage }
})
