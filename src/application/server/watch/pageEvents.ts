import { Option, Result, Iterable } from "effect"
import { asObject, asString } from "../../../domain/json.ts"
import { publicMembership, type PublicMembership } from "../../../domain/model/Membership.ts"
import { phaseOf } from "../../../domain/page/calls/callPhase.ts"
import { calls } from "../../../domain/wire/calls.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { PageCall, PageEvent, PageMember, OfficeActivity } from "../../../domain/page/PageEvent.ts"
import { parseTraceparent } from "../../../domain/traceContext.ts"
import type { Connection } from "../connections/Connections.ts"
import { truncateText } from "../../shared/logLimits.ts"
import { exactOutcome, type CompletedCall, type ObservedEvent, type StartedCall } from "../observability/observers.ts"
import type { InFlightCall } from "../connections/InFlightCall.ts"
import { maxCallsPerBatch, type StreamBuffer } from "../../shared/page/StreamBuffer.ts"

/** A connection as a member of an office. `now` replaces a missing time of its join. */
const toMember = (connection: Connection, { name, office, role }: PublicMembership, now: number): PageMember => {
  const { features, identity, line, registration } = connection
  const { joinedAt = now, node, sid, version } = registration.session
  const { approvals, inspection, operatorCalls } = features
  const member = { sid, node, line: line.name, office, role, name, subject: identity.subject, version, joinedAt }
  return { ...member, features: { approvals, inspection, operatorCalls } }
}

/** A connection that is in an office; `undefined` for others. */
export const toPageMember = (connection: Connection, now: number): PageMember | undefined => {
  const membership = Option.getOrUndefined(connection.registration.session.membership)
  return membership === undefined ? undefined : toMember(connection, publicMembership(membership), now)
}

/** The event of a join, a leave or a rejection; `undefined` for a join of a connection that has closed. */
export const toMembershipEvent = (
  event: ObservedEvent,
  node: string,
  connection: Connection | undefined,
  at: number
): PageEvent | undefined => {
  switch (event._tag) {
    case "Entered":
      return connection && { _tag: "Entered", member: toMember(connection, event.membership, at) }
    case "Left":
      return { _tag: "Left", sid: event.sid, at }
    case "ConnectionRejected": {
      const { code, remoteAddress } = event
      const reason = truncateText(event.reason)
      return { _tag: "Rejected", node, at, what: "connection", code, reason, remoteAddress }
    }
    case "JoinRejected":
      return { _tag: "Rejected", node, at, what: "join", reason: truncateText(event.reason), subject: event.subject }
    case "RequestRejected": {
      const { code, subject } = event
      return { _tag: "Rejected", node, at, what: "request", code, reason: truncateText(event.reason), subject }
    }
  }
}

export const callId = (node: string, serial: number): string => `${node}/${serial}`

export const toPageCall = (call: StartedCall, node: string): PageCall => {
  const { agent, computer, decision, event, line, reqId, request, serial, startedAt, status, subject } = call
  // The routing has parsed the head.
  const tool = asString(asObject(Result.getOrElse(request.head, () => undefined))["tool_name"])
  const trace = parseTraceparent(reqId)
  return {
    id: callId(node, serial),
    node,
    line,
    office: agent.office,
    agent: agent.name,
    subject,
    computer: truncateText(computer),
    event,
    reqId: truncateText(reqId),
    startedAt,
    ...definedOnly({ status, decision }),
    ...(tool !== undefined && { tool: truncateText(tool) }),
    ...(trace !== undefined && { traceId: trace.traceId })
  }
}

/** Larger replies, in bytes, are not parsed for their outcome. */
const maxParsedReplyBytes = 16 * 1024

/** Parses a small reply, which a node or a relay has forwarded unread, so that its outcome is known. */
const parseReply = ({ outcome }: Pick<CompletedCall, "outcome">): void => {
  if ("_tag" in outcome || outcome.isHeadParsed || outcome.byteLength() > maxParsedReplyBytes) return
  void outcome.head
}

/** Ended calls in a snapshot, the latest ones that a stream has shown. */
export const maxEndedCalls = 500

/** Running calls in a snapshot, the latest ones. */
export const maxRunningCalls = 1000

/** Offices in one report of activity, those with the most calls. */
const maxActiveOffices = 1000

/** A call that runs for less time, in milliseconds, is shown when it ends only. */
const minShownMillis = 20

/** A call in flight, at the node of its Agent. */
type Origin = NonNullable<InFlightCall["origin"]>

/**
 * Keeps the running calls, the latest ended ones, and the activity of the offices, while a page is open. It runs on the
 * way of every call. Most calls end at once, and of many calls a page shows a few: the others are counted only, because
 * objects that live until the next garbage collection cost more than all else here.
 */
export const makeCallTable = (streams: ReadonlyMap<string, StreamBuffer>) => {
  /** Running calls that were given to the streams. A map of all would move them to the old generation. */
  const running = new Map<number, PageCall>()
  let ended: Array<PageCall> = []
  /** By line and office: a joined key would be made for every call. */
  let activity = new Map<string, Map<string, { -readonly [K in keyof OfficeActivity]: OfficeActivity[K] }>>()

  const countEnd = (call: CompletedCall, node: string, outcome: string): void => {
    const { line } = call
    const { office } = call.agent
    let offices = activity.get(line)
    if (offices === undefined) activity.set(line, (offices = new Map()))
    let counts = offices.get(office)
    if (counts === undefined) offices.set(office, (counts = { line, office, node, calls: 0, failed: 0 }))
    counts.calls += 1
    if (outcome !== "ok" && phaseOf({ ...call, outcome }) === "failed") counts.failed += 1
  }

  const keep = (call: StartedCall, node: string): PageCall => {
    const shown = toPageCall(call, node)
    running.set(call.serial, shown)
    return shown
  }

  const addCall = (call: PageCall): void => {
    for (const buffer of streams.values()) buffer.addCall(call)
  }

  /** The calls in flight that were not given to the streams, the oldest first. Both members of a call may list it. */
  const hiddenOf = (inFlight: Iterable<Origin>): ReadonlyArray<Origin> => {
    const hidden = new Map<number, Origin>()
    for (const origin of inFlight) if (!running.has(origin.serial)) hidden.set(origin.serial, origin)
    return [...hidden.values()].toSorted((one, other) => one.serial - other.serial)
  }

  return {
    report: (call: StartedCall, node: string): void => addCall(keep(call, node)),
    end: (completed: CompletedCall, node: string): void => {
      const { endedAt, serial } = completed
      const before = running.get(serial)
      const isShown = before !== undefined || Iterable.some(streams.values(), (buffer) => buffer.hasSpaceForEnded())
      // Only for the calls that are shown: a parse of each reply would cost more than its routing.
      if (isShown) parseReply(completed)
      const outcome = exactOutcome(completed)
      const isToolCall = completed.event === calls.toolCall.event
      if (isToolCall) countEnd(completed, node, outcome)
      if (!isShown) {
        if (isToolCall) for (const buffer of streams.values()) buffer.omitCall()
        return
      }
      running.delete(serial)
      const call = { ...(before ?? toPageCall(completed, node)), endedAt, outcome }
      ended.push(call)
      if (ended.length > maxEndedCalls) ended.shift()
      if (before !== undefined) return addCall(call)
      for (const buffer of streams.values()) buffer.addEndedCall(call)
    },
    /** Gives calls in flight to the streams that run for a while at the time `now`: a batch full, the oldest first. */
    showRunning: (inFlight: Iterable<Origin>, node: string, now: number): void => {
      const hidden = hiddenOf(inFlight).filter(({ startedAt }) => startedAt <= now - minShownMillis)
      for (const { describe } of hidden.slice(0, maxCallsPerBatch)) addCall(keep(describe(), node))
    },
    /** The calls of a snapshot: the latest ended ones, then the latest running ones. The streams have all of them. */
    snapshot: (inFlight: Iterable<Origin>, node: string): ReadonlyArray<PageCall> => {
      for (const { describe } of hiddenOf(inFlight)) addCall(keep(describe(), node))
      return [...ended, ...[...running.values()].slice(-maxRunningCalls)]
    },
    /** The activity since it was last taken. */
    takeActivity: (): ReadonlyArray<OfficeActivity> => {
      const all = [...activity.values()].flatMap((offices) => [...offices.values()])
      activity = new Map()
      return all.toSorted((one, other) => other.calls - one.calls).slice(0, maxActiveOffices)
    },
    /** Forgets the running calls, which are not followed without an open page. */
    clearRunning: () => {
      running.clear()
      activity = new Map()
    },
    clearEnded: () => void (ended = [])
  }
}
