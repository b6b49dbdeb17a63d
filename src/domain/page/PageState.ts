import type { Inspection } from "./Inspection.ts"
import type {
  OfficeActivity,
  OfficeAddress,
  PageCall,
  PageEvent,
  PageMember,
  PageMessage,
  PageNode
} from "./PageEvent.ts"
import { type CallPhase, phaseOf } from "./calls/callPhase.ts"
import type { ComputerName } from "../model/ids.ts"

/** Calls that the page keeps. Beyond it the oldest ended ones are removed first. */
export const maxCalls = 5_000

/** Rejections that the page keeps, the latest ones. */
export const maxRejections = 500

/** The phases that are kept of a call: its first ones, and the last one. */
export const maxPhases = 16

/** Nodes that are shown after they were lost, the latest ones. A node that restarts has another name. */
export const maxLostNodes = 10

/** The length of the history of an office, in seconds. */
export const historySeconds = 60

/** A call with the times at which it changed its phase, in milliseconds of the epoch at the Server. */
export interface TrackedCall {
  readonly call: PageCall
  readonly phases: ReadonlyArray<{ readonly phase: CallPhase; readonly at: number }>
}

export type Rejection = Extract<PageEvent, { readonly _tag: "Rejected" }>

/** The calls of an office at a node in one second. */
export interface ActivitySecond extends OfficeActivity {
  /** Of the office. */
  readonly key: string
  /** Seconds of the epoch. */
  readonly second: number
}

/** What the page knows. It is bounded, except by the number of members, which the Server bounds. */
export interface PageState {
  /** Missing before the first snapshot. */
  readonly stream?: string
  /** Milliseconds of the epoch at the Server, of the last message. */
  readonly at: number
  readonly members: ReadonlyMap<string, PageMember>
  readonly omittedMembers: number
  readonly nodes: ReadonlyMap<string, PageNode>
  /** In the order in which the page first saw them. */
  readonly calls: ReadonlyMap<string, TrackedCall>
  /** The latest one first. */
  readonly rejections: ReadonlyArray<Rejection>
  /** Of the last {@link historySeconds} seconds. */
  readonly activity: ReadonlyArray<ActivitySecond>
  /** By Computer. */
  readonly inspections: ReadonlyMap<string, Inspection>
  /** How often each part of each Computer was updated, by {@link partKey}. */
  readonly updates: ReadonlyMap<string, number>
  /** Since the page was opened. */
  readonly omittedCalls: number
  readonly droppedEvents: number
}

/** The maps that the events of a snapshot fill. */
const noKnowledge = {
  members: new Map(),
  nodes: new Map(),
  calls: new Map(),
  inspections: new Map(),
  updates: new Map()
}

export const initialState: PageState = {
  ...noKnowledge,
  at: 0,
  omittedMembers: 0,
  rejections: [],
  activity: [],
  omittedCalls: 0,
  droppedEvents: 0
}

/** Identifies an office in maps. */
export const officeKey = ({ line, office }: OfficeAddress): string => JSON.stringify([line, office])

/** Identifies a Computer in maps. */
export const computerKey = ({ line, office }: OfficeAddress, computer: ComputerName): string =>
  JSON.stringify([line, office, computer])

/** Identifies a part of a Computer in maps. */
export const partKey = (address: OfficeAddress, computer: ComputerName, part: string): string =>
  `${part} ${computerKey(address, computer)}`

const trackCall = (before: TrackedCall | undefined, call: PageCall, at: number): TrackedCall => {
  const phase = phaseOf(call)
  const phases = before?.phases ?? []
  if (phases.at(-1)?.phase === phase) return { call, phases }
  const entered = { phase, at: phases.length === 0 ? call.startedAt : (call.endedAt ?? at) }
  return { call, phases: [...phases.slice(0, maxPhases - 1), entered] }
}

/** Removes the oldest ended calls beyond the bound, then the oldest ones. */
const boundCalls = (calls: Map<string, TrackedCall>): void => {
  for (const isRemoved of [({ call }: TrackedCall) => call.endedAt !== undefined, () => true]) {
    if (calls.size <= maxCalls) return
    for (const [id, entry] of calls) {
      if (calls.size <= maxCalls) return
      if (isRemoved(entry)) calls.delete(id)
    }
  }
}

type MapName = "members" | "nodes" | "calls" | "inspections" | "updates"

type MapOf<Name extends MapName> = PageState[Name] extends ReadonlyMap<infer K, infer V> ? Map<K, V> : never

/** A state and the next one, which shares the maps that no event changes. */
interface Step {
  readonly before: PageState
  /** Also the calls before a snapshot, of which it tells no phases. */
  readonly earlierCalls: PageState["calls"]
  readonly next: { -readonly [Name in keyof PageState]: PageState[Name] }
}

/** The map of the next state, which is copied before its first change. */
const edit = <Name extends MapName>({ before, next }: Step, name: Name): MapOf<Name> => {
  if (next[name] === before[name]) next[name] = new Map<string, unknown>(before[name]) as unknown as PageState[Name]
  return next[name] as unknown as MapOf<Name>
}

const removeMember = (step: Step, sid: string): void => {
  const member = step.next.members.get(sid)
  edit(step, "members").delete(sid)
  if (member?.role !== "computer") return
  const key = computerKey(member, member.name)
  edit(step, "inspections").delete(key)
  const updates = edit(step, "updates")
  for (const part of updates.keys()) if (part.endsWith(` ${key}`)) updates.delete(part)
}

/** Shows a node as unavailable, instead of what it last reported. Lost nodes beyond the bound are removed. */
const markUnavailable = (nodes: Map<string, PageNode>, node: string): void => {
  const before = nodes.get(node)
  if (before === undefined) return
  const { latency: _latency, reason: _reason, ...rest } = before
  const lost = {
    ...rest,
    state: "unavailable",
    components: {},
    connections: 0,
    callsInFlight: 0,
    callsPerSecond: 0
  } as const
  // The latest one stands last.
  nodes.delete(node)
  nodes.set(node, lost)
  const all = [...nodes.values()].filter(({ state }) => state === "unavailable")
  for (const one of all.slice(0, -maxLostNodes)) nodes.delete(one.node)
}

/** Shows a node as unavailable, and removes its members and its running calls; calls that ended remain. */
const removeNode = (step: Step, node: string): void => {
  markUnavailable(edit(step, "nodes"), node)
  for (const member of step.next.members.values()) if (member.node === node) removeMember(step, member.sid)
  const calls = edit(step, "calls")
  for (const [id, { call }] of calls) if (call.node === node && call.endedAt === undefined) calls.delete(id)
}

/** Applies an event to the next state. A newer Server sends events that this page does not know. */
const applyEvent = (step: Step, event: PageEvent): unknown => {
  const { next } = step
  switch (event._tag) {
    case "Entered":
      return edit(step, "members").set(event.member.sid, event.member)
    case "Left":
      return removeMember(step, event.sid)
    case "Call": {
      const { id } = event.call
      const before = next.calls.get(id) ?? step.earlierCalls.get(id)
      return edit(step, "calls").set(id, trackCall(before, event.call, next.at))
    }
    case "Updated": {
      const key = partKey(event, event.computer, event.part)
      return edit(step, "updates").set(key, (next.updates.get(key) ?? 0) + 1)
    }
    case "Rejected":
      return (next.rejections = [event, ...next.rejections].slice(0, maxRejections))
    case "Node":
      return edit(step, "nodes").set(event.node.node, event.node)
    case "NodeLost":
      return removeNode(step, event.node)
    case "Activity": {
      const second = Math.floor(event.at / 1000)
      const recent = next.activity.filter((one) => one.second > second - historySeconds)
      return (next.activity = [...recent, ...event.offices.map((one) => ({ ...one, key: officeKey(one), second }))])
    }
    case "Inspected":
      return edit(step, "inspections").set(computerKey(event, event.computer), event.inspection)
  }
}

/** Applies a message of the stream. Does not change the given state. */
export const applyMessage = (state: PageState, message: PageMessage): PageState => {
  const isSnapshot = "stream" in message
  const before = {
    ...state,
    ...(isSnapshot && { ...noKnowledge, stream: message.stream, omittedMembers: message.omittedMembers }),
    at: message.at,
    omittedCalls: state.omittedCalls + message.omittedCalls,
    droppedEvents: state.droppedEvents + message.droppedEvents
  }
  const step = { before, next: { ...before }, earlierCalls: state.calls }
  for (const event of message.events) applyEvent(step, event)
  if (step.next.calls !== before.calls) boundCalls(edit(step, "calls"))
  return step.next
}
