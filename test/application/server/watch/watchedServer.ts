import { Context, type Duration, Effect, Exit, Fiber, Layer, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../../src/adapters/memory/MemoryTransport.ts"
import { type AuditEvent, AuditLog } from "../../../../src/application/ports/AuditLog.ts"
import { allowAll, Authenticator } from "../../../../src/application/ports/Authenticator.ts"
import { DocumentReader } from "../../../../src/application/ports/files/DocumentReader.ts"
import { TransportClient } from "../../../../src/application/ports/Transport.ts"
import { Limits, ServerSettings } from "../../../../src/application/server/Limits.ts"
import { Server } from "../../../../src/application/server/lifecycle/Server.ts"
import { Observability } from "../../../../src/application/server/observability/Observability.ts"
import { OfficeWatch, type OfficeWatchOptions } from "../../../../src/application/server/watch/OfficeWatch.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { allGrants, type Grants } from "../../../../src/domain/model/Identity.ts"
import type { Role } from "../../../../src/domain/model/Membership.ts"
import type { PageBatch, PageCall, PageEvent } from "../../../../src/domain/page/PageEvent.ts"
import { PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { settle } from "../../../settle.ts"
import { connectMember, joinMember, type Member, type MemberOptions } from "../clusterNode.ts"
import type { PageStream } from "../../../../src/application/shared/page/openPageStream.ts"
import type { Operator } from "../../../../src/application/shared/page/PageSource.ts"

/** The protocol line of the members. */
export const line = PROTOCOL_VERSION.split(".").slice(0, 2).join(".")

/** The name of the only node. */
export const node = "node-1"

interface ServerOptions {
  readonly watch?: OfficeWatchOptions
  readonly limits?: Partial<Limits>
  readonly settings?: Partial<ServerSettings>
  readonly authenticator?: Authenticator["Service"]
  /** The cluster and the name of the node in it; alone by default. */
  readonly cluster?: MemoryCluster.MemoryCluster
  readonly name?: string
  readonly documents?: DocumentReader["Service"]
}

/** Runs a Server in memory with a watch, and constructors for its members. */
export const startWatched = Effect.fnUntraced(function* ({
  authenticator = allowAll,
  cluster = MemoryCluster.makeCluster(),
  documents,
  limits,
  name: nodeName = node,
  settings,
  watch: options
}: ServerOptions = {}) {
  const audited = yield* Queue.unbounded<AuditEvent>()
  const audit = AuditLog.of({ record: (event) => void Queue.offerUnsafe(audited, event), lostCount: () => 0 })
  const scope = yield* Scope.fork(yield* Effect.scope)
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(MemoryTransport.layer({ idPrefix: nodeName })),
    Layer.provide(MemoryCluster.layerNode(cluster, nodeName)),
    Layer.provide(Layer.succeed(ServerSettings, { ...ServerSettings.defaultValue(), ...settings })),
    Layer.provide(Layer.succeed(Limits, { ...Limits.defaultValue(), ...limits })),
    Layer.provideMerge(OfficeWatch.layer(options)),
    Layer.provide(documents === undefined ? Layer.empty : Layer.succeed(DocumentReader, documents)),
    Layer.provideMerge(Observability.layer),
    Layer.provide(Layer.succeed(AuditLog, audit)),
    Layer.provide(Layer.succeed(Authenticator, authenticator)),
    Layer.fresh,
    Layer.build,
    Scope.provide(scope)
  )
  const transport = Context.get(context, TransportClient)
  return {
    watch: Context.get(context, OfficeWatch),
    observability: Context.get(context, Observability),
    transport,
    /** Shuts the Server down. */
    close: Scope.close(scope, Exit.void),
    /** Connects a client that joins no office. */
    connect: (role: Role, options: MemberOptions = {}) => connectMember(transport, role, options),
    agent: (name = "ada", options?: MemberOptions) => joinMember(transport, "agent", name, options),
    computer: (name = "pc", options?: MemberOptions) => joinMember(transport, "computer", name, options),
    /** The audit events of operators. */
    operatorActions: Effect.map(Queue.clear(audited), (events) =>
      events.flatMap(({ fields }) => (fields["type"] === "operator" ? [fields] : []))
    )
  }
})

export type Watched = Effect.Success<ReturnType<typeof startWatched>>

/** A Server with the Agent `ada` and the Computer `pc` in an office. The Computer gives this reply to each request. */
export const startOffice = Effect.fnUntraced(function* (
  reply: Effect.Effect<unknown> = Effect.succeed(toolResult("ok")),
  options?: ServerOptions
) {
  const server = yield* startWatched(options)
  const pc = yield* server.computer("pc", { answer: () => reply })
  return { ...server, pc, ada: yield* server.agent() }
})

/** Reads a stream in the background. `batches` grows. */
export const readStream = Effect.fnUntraced(function* ({ next }: PageStream) {
  const batches: Array<PageBatch> = []
  const reading = Effect.repeat(
    Effect.tap(next, (batch) => Effect.sync(() => batch && batches.push(batch))),
    { while: (batch) => batch !== undefined }
  )
  const fiber = yield* Effect.forkScoped(reading, { startImmediately: true })
  return {
    batches,
    fiber,
    events: (): ReadonlyArray<PageEvent> => batches.flatMap(({ events }) => events),
    /** The events of one kind. */
    tagged: <Tag extends PageEvent["_tag"]>(tag: Tag) =>
      batches.flatMap(({ events }) =>
        events.filter((event): event is Extract<PageEvent, { readonly _tag: Tag }> => event._tag === tag)
      )
  }
})

/** Lets messages arrive, and then the next batch. */
export const elapse = (duration: Duration.Input = "100 millis") => Effect.andThen(settle, TestClock.adjust(duration))

/** A stream of a Server, and its reader. */
export const openStream = Effect.fnUntraced(function* ({ watch }: Pick<Watched, "watch">) {
  const stream = yield* watch.open
  return { ...stream, ...(yield* readStream(stream)) }
})

/** The request of a tool call. */
export const toolCall = (agent: string, fields: Partial<Record<string, unknown>> = {}) => ({
  agent,
  req_id: "r",
  computer: "pc",
  tool_name: "fs:list",
  params: {},
  timeout: 60,
  ...fields
})

/** Starts a call, which has arrived at its Computer when this returns. */
export const startCall = (agent: Member, fields?: Partial<Record<string, unknown>>, name = "ada") =>
  Effect.tap(
    Effect.forkChild(agent.request("client:tool_call", toolCall(name, fields)), { startImmediately: true }),
    () => settle
  )

/** Starts a call and waits for its reply. */
export const makeCall = (agent: Member, fields?: Partial<Record<string, unknown>>) =>
  Effect.flatMap(startCall(agent, fields), Fiber.join)

/** A tool result with a text. */
export const toolResult = (text: string, fields: JsonObject = {}) => ({
  content: [{ type: "text", text }],
  isError: false,
  ...fields
})

/** An operator with these grants. */
export const operatorOf = (subject: string, grants: Grants = allGrants): Operator => ({
  identity: { subject, grants, expiresAt: undefined },
  remoteAddress: "10.0.0.1"
})

export const olga = operatorOf("olga")

/** The states of the calls, without times and request ids. */
export const outcomesOf = (calls: ReadonlyArray<PageCall>) =>
  calls.map(({ outcome = "running", tool }) => `${tool}: ${outcome}`)
