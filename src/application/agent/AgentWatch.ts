import { bytesToHex } from "@noble/hashes/utils.js"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Queue, type Scope, Stream } from "effect"
import { toAnswer } from "../../domain/approvals/ApprovalView.ts"
import { type CallStatus, isConsent } from "../../domain/model/CallStatus.ts"
import type { JsonObject } from "../../domain/json.ts"
import {
  badRequest,
  forbidden,
  notFound,
  ProtocolError,
  tooManyRequests,
  unavailable
} from "../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import type { PageCallMessage } from "../../domain/page/PageCommand.ts"
import type { PageCall, PageEvent, PageMember } from "../../domain/page/PageEvent.ts"
import type { DocumentUnreadable } from "../ports/files/DocumentReader.ts"
import type { McpSessionError } from "../ports/McpSession.ts"
import { maxDocumentBytes, toPreview } from "../shared/page/documentPreview.ts"
import { type CallAsOperator, executeBy, handleRequests, type PageSource } from "../shared/page/PageSource.ts"
import { batchInterval, type PageStream } from "../shared/page/PageStream.ts"
import { makeRing } from "../shared/page/Ring.ts"
import { makeStreamBuffer, type StreamBuffer } from "../shared/page/StreamBuffer.ts"
import { secureRandomBytes } from "../shared/secureRandom.ts"
import { Agent, type AgentShape, type ToolCall } from "./Agent.ts"
import type { AgentError } from "./AgentErrors.ts"
import type { AmbiguousTool, OfficeView } from "./OfficeView.ts"

/** Pages that are open at the same time. */
const maxStreams = 16

/** Ended calls in a snapshot. */
const maxEndedCalls = 500

/** Time between two reports of the activity. */
const activityInterval = Duration.seconds(1)

/** Messages of a call that wait for a slow reader. The oldest ones are dropped. */
const maxQueuedMessages = 64

/** A call that runs. */
interface RunningCall {
  call: PageCall
  readonly cancel: Effect.Effect<void>
}

/** The outcome of a call as a page shows it. */
const outcomeOf = ({ isError, meta = {} }: ToolResult): string => {
  if (meta["a2c_cancelled"] === true) return "cancelled"
  if (meta["a2c_timeout"] === true) return "timeout"
  return isError ? "tool_error" : "ok"
}

const toProtocolError = (error: AgentError | AmbiguousTool | DocumentUnreadable | McpSessionError): ProtocolError => {
  if (error._tag === "McpSessionError") return badRequest(error.message)
  return error instanceof ProtocolError ? error : unavailable(error.message)
}

const sidOf = ({ name, role }: OfficeView["members"][number]): string => `${role} ${name}`

/** An Agent whose calls pages show, and what these pages show. */
export interface WatchedAgent {
  readonly agent: AgentShape
  readonly page: PageSource
}

/**
 * Observes the office of an Agent for its operators, as the Agent sees it: members, calls of this Agent, tools, windows
 * and documents. The returned Agent reports its calls.
 */
export const watchAgent = Effect.fnUntraced(function* ({
  name,
  office
}: {
  readonly name: string
  readonly office: string
}): Effect.fn.Return<WatchedAgent, never, Agent | Scope.Scope> {
  const agent = yield* Agent
  const clock = yield* Clock.Clock
  const address = { line: agent.member.line.name, office }
  const streams = new Set<StreamBuffer>()
  const running = new Map<string, RunningCall>()
  const ended = makeRing<PageCall>(maxEndedCalls)
  let lastCall = 0
  /** The calls that have ended since the last report. */
  let activity = { calls: 0, failed: 0 }
  let members: ReadonlyMap<string, PageMember> = new Map()

  const now = () => clock.currentTimeMillisUnsafe()

  const toMembers = (view: OfficeView): ReadonlyMap<string, PageMember> =>
    new Map(
      view.members.map((member) => {
        const sid = sidOf(member)
        const known = members.get(sid)
        const features = { inspection: false, operatorCalls: false, approvals: true }
        const shown = { ...address, ...member, sid, node: "", subject: "", version: "", joinedAt: now(), features }
        return [sid, known ?? shown]
      })
    )

  const publish = (event: PageEvent): void => {
    for (const stream of streams) stream.addEvent(event)
  }

  yield* Effect.forkScoped(
    Stream.runForEach(agent.changes, (view) =>
      Effect.sync(() => {
        const before = members
        members = toMembers(view)
        for (const sid of before.keys()) if (!members.has(sid)) publish({ _tag: "Left", sid, at: now() })
        for (const [sid, member] of members) if (!before.has(sid)) publish({ _tag: "Entered", member })
      })
    ),
    { startImmediately: true }
  )
  yield* Effect.forkScoped(
    Stream.runForEach(agent.events, (event) =>
      Effect.sync(() => {
        if (event._tag === "Updated") {
          const { computer, part } = event
          publish({ _tag: "Updated", ...address, computer, part, at: now() })
        }
      })
    ),
    { startImmediately: true }
  )

  const reportActivity = Effect.sync(() => {
    const { calls, failed } = activity
    activity = { calls: 0, failed: 0 }
    const at = now()
    const offices = calls === 0 ? [] : [{ ...address, node: "", calls, failed }]
    for (const stream of streams) stream.setStatus([{ _tag: "Activity", at, offices }])
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(activityInterval), reportActivity)))

  const show = (call: PageCall): void => {
    for (const stream of streams) stream.addCall(call)
  }

  /** Calls a tool and shows the call. */
  const callTool: AgentShape["callTool"] = (call) =>
    Effect.suspend(() => {
      const id = `${++lastCall}`
      const first: PageCall = {
        ...address,
        id,
        node: "",
        agent: name,
        subject: "",
        computer: call.computer ?? "",
        event: agent.member.line.calls.toolCall.event,
        tool: call.tool,
        reqId: "",
        startedAt: now()
      }
      const onStatus = (status: CallStatus) =>
        Effect.suspend(() => {
          const entry = running.get(id)
          const decided = isConsent(status) ? { decision: status } : {}
          if (entry !== undefined) show((entry.call = { ...entry.call, computer: status.computer, status, ...decided }))
          return call.onStatus?.(status) ?? Effect.void
        })
      const end = (exit: Exit.Exit<ToolResult, AgentError | AmbiguousTool>): void => {
        const last = running.get(id)?.call ?? first
        running.delete(id)
        const failure = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined
        const outcome = Exit.isSuccess(exit)
          ? outcomeOf(exit.value)
          : failure?._tag === "Some"
            ? String(toProtocolError(failure.value).code)
            : "cancelled"
        const done = { ...last, endedAt: now(), outcome }
        ended.push(done)
        activity = { calls: activity.calls + 1, failed: activity.failed + (outcome === "ok" ? 0 : 1) }
        show(done)
      }
      // An open page answers the questions of calls that nothing else answers.
      const onInput = call.onInput ?? (streams.size > 0 ? () => Effect.never : undefined)
      return Effect.gen(function* () {
        const made = { ...call, onStatus, onInput }
        const fiber = yield* Effect.forkChild(agent.callTool(made), { startImmediately: true })
        running.set(id, { call: first, cancel: Fiber.interrupt(fiber) })
        show(first)
        const exit = yield* Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
        return yield* exit
      }).pipe(Effect.onExit((exit) => Effect.sync(() => end(exit))))
    })

  const open = Effect.gen(function* () {
    if (streams.size >= maxStreams)
      return yield* tooManyRequests(`${maxStreams} pages are open and more are not allowed`, "page_streams", maxStreams)
    const calls = [...ended.values(), ...Array.from(running.values(), ({ call }) => call)]
    const buffer = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const made = makeStreamBuffer(running.keys())
        streams.add(made)
        return made
      }),
      (made) => Effect.sync(() => void streams.delete(made))
    )
    const stream = bytesToHex(secureRandomBytes(16))
    const opened: PageStream = {
      snapshot: {
        _tag: "Snapshot",
        stream,
        at: now(),
        members: [...members.values()],
        omittedMembers: 0,
        calls,
        nodes: []
      },
      next: Effect.repeat(Effect.sleep(batchInterval), { until: buffer.hasEvents }).pipe(
        Effect.map(() => buffer.take(now()))
      )
    }
    return opened
  })

  const request = <A>(asking: Effect.Effect<A, AgentError | DocumentUnreadable | McpSessionError>) =>
    Effect.mapError(asking, toProtocolError)

  const notOfServer = () =>
    Effect.fail(forbidden("This page belongs to an Agent: only operators of the Server may do this"))

  const execute = executeBy({
    Focus: () => Effect.succeed({}),
    Disconnect: notOfServer,
    Drain: notOfServer,
    CancelCall: ({ id }) => {
      const cancel = running.get(id)?.cancel
      return cancel === undefined ? Effect.fail(notFound("The call does not run any more")) : Effect.as(cancel, {})
    },
    GetCallBody: () => Effect.fail(notFound("An Agent does not capture arguments and results")),
    GetTools: ({ computer }) => request(agent.getToolList(computer)),
    ...handleRequests((name, fields) => request(agent.request(name, fields))),
    GetDocument: ({ computer, uri }) =>
      Effect.map(request(agent.fetchDocument(computer, uri, { maxBytes: maxDocumentBytes })), (document) =>
        toPreview(uri, document)
      ),
    SendMcpRequest: ({ computer, method, params, server = "" }) => {
      const asked: Effect.Effect<JsonObject, AgentError | McpSessionError> =
        method === "servers/list"
          ? Effect.map(agent.mcpServers(computer), (servers) => ({ servers }))
          : agent.mcpRequest(computer, { server, method, params })
      return Effect.map(request(asked), (result) => ({ result }))
    },
    GetApproval: ({ computer, id }) =>
      Effect.flatMap(request(agent.getApprovals(computer, { approvalId: id })), (approvals) => {
        const found = approvals.find((one) => one.id === id)
        return found === undefined ? Effect.fail(notFound("The approval is not open any more")) : Effect.succeed(found)
      }),
    DecideApproval: ({ computer, id, ...answer }) => request(agent.decideApproval(computer, id, toAnswer(answer))),
    ExplainCall: () => Effect.fail(forbidden("Only operators of the Server learn how a Computer decides about calls"))
  })

  const call: CallAsOperator = ({ computer, params, timeout, tool }) =>
    Effect.sync(() => {
      const outcome = Stream.callback<PageCallMessage>(
        Effect.fnUntraced(function* (queue) {
          const onStatus = (status: CallStatus) =>
            Effect.sync(() => void Queue.offerUnsafe(queue, { _tag: "Status", status }))
          const made: ToolCall = { computer, params, timeout, tool, onStatus }
          const last = yield* Effect.match(callTool(made), {
            onSuccess: (result): PageCallMessage => ({ _tag: "Result", result }),
            onFailure: (error): PageCallMessage => {
              const { code, message } = toProtocolError(error)
              return { _tag: "Failed", error: { code, message } }
            }
          })
          yield* Queue.offer(queue, last)
          yield* Queue.end(queue)
        }),
        { bufferSize: maxQueuedMessages, strategy: "sliding" }
      )
      return Stream.concat(Stream.succeed<PageCallMessage>({ _tag: "Started", as: "agent", name }), outcome)
    })

  return { agent: { ...agent, callTool }, page: { hasBodies: false, office: address, open, execute, call } }
})
