import { Cause, Clock, Duration, Effect, Exit, Fiber, Option, Stream } from "effect"
import { toAnswer } from "../../domain/approvals/ApprovalView.ts"
import { type CallStatus, isConsent } from "../../domain/model/CallStatus.ts"
import { badRequest, forbidden, notFound, ProtocolError, unavailable } from "../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { errorCodeOf } from "../../domain/tools/errorResults.ts"
import { phaseOf } from "../../domain/page/calls/callPhase.ts"
import type { OfficeAddress, PageCall, PageEvent, PageMember } from "../../domain/page/PageEvent.ts"
import type { DocumentUnreadable } from "../ports/files/DocumentReader.ts"
import type { McpSessionError } from "../ports/McpSession.ts"
import { maxDocumentBytes, toPreview } from "../shared/page/documentPreview.ts"
import {
  type CallAsOperator,
  executeBy,
  handleRequests,
  type PageSource,
  streamCall
} from "../shared/page/PageSource.ts"
import { openPageStream } from "../shared/page/openPageStream.ts"
import type { StreamBuffer } from "../shared/page/StreamBuffer.ts"
import { Agent, type AgentOptions, type AgentShape } from "./Agent.ts"
import type { AgentError } from "./AgentErrors.ts"
import type { AmbiguousTool, UnknownTool } from "./OfficeView.ts"

const maxEndedCalls = 500

/** Time between two reports of the activity. */
const activityInterval = Duration.seconds(1)

const toProtocolError = (error: AgentError | AmbiguousTool | UnknownTool | DocumentUnreadable | McpSessionError) => {
  if (error._tag === "McpSessionError") return badRequest(error.message)
  return error instanceof ProtocolError ? error : unavailable(error.message)
}

type Pages = ReadonlyMap<string, StreamBuffer>

/** Shows the members of the office and the changes of its Computers to the pages, as the Agent sees them. */
const watchOffice = Effect.fnUntraced(function* (
  agent: AgentShape,
  address: OfficeAddress,
  pages: Pages,
  now: () => number
) {
  const members = new Map<string, PageMember>()
  const features = { inspection: false, operatorCalls: false, approvals: true }

  const publish = (event: PageEvent): void => {
    for (const page of pages.values()) page.addEvent(event)
  }
  const follow = <A>(stream: Stream.Stream<A>, onItem: (item: A) => void) =>
    Effect.forkScoped(
      Stream.runForEach(stream, (item) => Effect.sync(() => onItem(item))),
      { startImmediately: true }
    )

  yield* follow(agent.changes, (view) => {
    const current = new Map(view.members.map((member) => [`${member.role} ${member.name}`, member]))
    for (const sid of members.keys()) {
      if (!current.has(sid) && members.delete(sid)) publish({ _tag: "Left", sid, at: now() })
    }
    for (const [sid, shown] of current) {
      if (members.has(sid)) continue
      const member = { ...address, ...shown, sid, node: "", subject: "", version: "", joinedAt: now(), features }
      members.set(sid, member)
      publish({ _tag: "Entered", member })
    }
  })
  yield* follow(agent.events, (event) => {
    if (event._tag !== "Updated") return
    const { computer, part } = event
    publish({ _tag: "Updated", ...address, computer, part, at: now() })
  })
  return members
})

/** Keeps the running calls of an Agent, the latest ended ones, and their counts since the last report. */
const makeCallLog = (show: (call: PageCall) => void) => {
  const running = new Map<string, { readonly call: PageCall; readonly cancel: Effect.Effect<void> }>()
  const ended: Array<PageCall> = []
  let activity = { calls: 0, failed: 0 }
  return {
    calls: () => [...ended, ...Array.from(running.values(), ({ call }) => call)],
    cancelOf: (id: string) => running.get(id)?.cancel,
    start: (call: PageCall, cancel: Effect.Effect<void>): void => {
      running.set(call.id, { call, cancel })
      show(call)
    },
    update: (id: string, status: CallStatus): void => {
      const entry = running.get(id)
      if (entry === undefined) return
      const decided = isConsent(status) ? { decision: status } : {}
      const call = { ...entry.call, computer: status.computer, status, ...decided }
      running.set(id, { ...entry, call })
      show(call)
    },
    /** Ends a call, which may have ended before it started: `first` is what is known of it then. */
    end: (first: PageCall, endedAt: number, outcome: string): void => {
      const last = running.get(first.id)?.call ?? first
      running.delete(first.id)
      const done = { ...last, endedAt, outcome }
      ended.push(done)
      if (ended.length > maxEndedCalls) ended.shift()
      activity = { calls: activity.calls + 1, failed: activity.failed + Number(phaseOf(done) === "failed") }
      show(done)
    },
    takeActivity: () => {
      const counts = activity
      activity = { calls: 0, failed: 0 }
      return counts
    }
  }
}

type CallLog = ReturnType<typeof makeCallLog>

const outcomeOf = (exit: Exit.Exit<ToolResult, AgentError | AmbiguousTool | UnknownTool>): string => {
  if (Exit.isFailure(exit)) {
    const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    return failure === undefined ? "cancelled" : String(toProtocolError(failure).code)
  }
  const { isError, meta = {} } = exit.value
  if (meta["a2c_cancelled"] === true) return "cancelled"
  if (meta["a2c_timeout"] === true) return "timeout"
  if (!isError) return "ok"
  return String(errorCodeOf(exit.value) ?? "tool_error")
}

/** Makes the function that calls tools, and shows the calls; `shown` is what they have in common. */
const showCalls = (
  agent: AgentShape,
  log: CallLog,
  pages: Pages,
  now: () => number,
  shown: Omit<PageCall, "id" | "computer" | "tool" | "startedAt">
): AgentShape["callTool"] => {
  let lastCall = 0
  return (call) =>
    Effect.suspend(() => {
      const id = `${++lastCall}`
      const { computer = "", tool } = call
      const first: PageCall = { ...shown, id, computer, tool, startedAt: now() }
      const onStatus = (status: CallStatus) =>
        Effect.suspend(() => {
          log.update(id, status)
          return call.onStatus?.(status) ?? Effect.void
        })
      // An open page answers the questions of calls that nothing else answers.
      const onInput = call.onInput ?? (pages.size > 0 ? () => Effect.never : undefined)
      return Effect.gen(function* () {
        const running = agent.callTool({ ...call, onStatus, onInput })
        const fiber = yield* Effect.forkChild(running, { startImmediately: true })
        log.start(first, Fiber.interrupt(fiber))
        const exit = yield* Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
        return yield* exit
      }).pipe(Effect.onExit((exit) => Effect.sync(() => log.end(first, now(), outcomeOf(exit)))))
    })
}

const request = <A>(asking: Effect.Effect<A, AgentError | DocumentUnreadable | McpSessionError>) =>
  Effect.mapError(asking, toProtocolError)

const notOfServer = () =>
  Effect.fail(forbidden("This page belongs to an Agent: only operators of the Server may do this"))

const makeCommands = (agent: AgentShape, log: CallLog) =>
  executeBy({
    Focus: () => Effect.succeed({}),
    Disconnect: notOfServer,
    Drain: notOfServer,
    CancelCall: ({ id }) => {
      const cancel = log.cancelOf(id)
      return cancel === undefined ? Effect.fail(notFound("The call does not run any more")) : Effect.as(cancel, {})
    },
    GetCallBody: () => Effect.fail(notFound("An Agent does not capture arguments and results")),
    GetTools: ({ computer }) => request(agent.getToolList(computer)),
    ...handleRequests((name, fields) => request(agent.request(name, fields))),
    GetDocument: ({ computer, uri }) =>
      Effect.map(request(agent.fetchDocument(computer, uri, { maxBytes: maxDocumentBytes })), (document) =>
        toPreview(uri, document)
      ),
    SendMcpRequest: ({ computer, method, params, server = "" }) =>
      method === "servers/list"
        ? Effect.map(request(agent.mcpServers(computer)), (servers) => ({ result: { servers } }))
        : Effect.map(request(agent.mcpRequest(computer, { server, method, params })), (result) => ({ result })),
    GetApproval: Effect.fnUntraced(function* ({ computer, id }) {
      const approvals = yield* request(agent.getApprovals(computer, { approvalId: id }))
      return approvals.find((one) => one.id === id) ?? (yield* notFound("The approval is not open any more"))
    }),
    DecideApproval: ({ computer, id, ...answer }) => request(agent.decideApproval(computer, id, toAnswer(answer))),
    ExplainCall: () => Effect.fail(forbidden("Only operators of the Server learn how a Computer decides about calls"))
  })

/**
 * Observes the office of an Agent for its operators, as the Agent sees it: members, calls of this Agent, tools, windows
 * and documents. The returned Agent reports its calls.
 */
export const watchAgent = Effect.fnUntraced(function* ({ name, office }: Pick<AgentOptions, "name" | "office">) {
  const agent = yield* Agent
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const address = { line: agent.member.line.name, office }
  const pages = new Map<string, StreamBuffer>()
  const log = makeCallLog((call) => {
    for (const page of pages.values()) page.addCall(call)
  })
  const members = yield* watchOffice(agent, address, pages, now)

  const reportActivity = Effect.sync(() => {
    const { calls, failed } = log.takeActivity()
    const offices = calls === 0 ? [] : [{ ...address, node: "", calls, failed }]
    for (const page of pages.values()) page.setStatus([{ _tag: "Activity", at: now(), offices }])
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(activityInterval), reportActivity)))

  const describe = () => ({ members: [...members.values()], omittedMembers: 0, calls: log.calls(), nodes: [] })
  const open = Effect.map(openPageStream(pages, describe), ({ buffer, nextBatch, snapshot }) => ({
    snapshot,
    next: nextBatch(buffer.hasEvents)
  }))

  const { event } = agent.member.line.calls.toolCall
  const shown = { ...address, agent: name, event, node: "", subject: "", reqId: "" }
  const callTool = showCalls(agent, log, pages, now, shown)
  const execute = makeCommands(agent, log)
  const call: CallAsOperator = ({ computer, params, timeout, tool }) => {
    const calling = (onStatus: (status: CallStatus) => void) =>
      callTool({ computer, params, timeout, tool, onStatus: (status) => Effect.sync(() => onStatus(status)) })
    return Effect.succeed(streamCall("agent", name, (onStatus) => Effect.mapError(calling(onStatus), toProtocolError)))
  }
  const page: PageSource = { hasBodies: false, office: address, open, execute, call }
  return { agent: { ...agent, callTool }, page }
})
