import { isToolCall, phaseOf } from "./calls/callPhase.ts"
import type { InspectedPart } from "./Inspection.ts"
import type { PageMember } from "./PageEvent.ts"
import type { OfficeSummary } from "./offices.ts"
import { computerKey, type PageState } from "./PageState.ts"

/** How well a thing does; the word of the style sheet for its colours. */
type Tone = "good" | "waiting" | "bad" | "idle"

export const roleNames = { agent: "Agent", computer: "Computer" } as const

/** The tones of the states of MCP servers, nodes, devices and packs; of others `idle`. */
export const stateTones: { readonly [state: string]: Tone } = {
  starting: "waiting",
  ready: "good",
  degraded: "waiting",
  restarting: "bad",
  failing: "bad",
  failed: "bad",
  draining: "waiting",
  unavailable: "bad",
  connected: "good",
  active: "good",
  faulty: "bad"
}

/** The MCP servers of an office that do not run, as far as its Computers have reported them. */
export const findFailedServers = ({ inspections }: PageState, { computers }: OfficeSummary) =>
  computers.flatMap((computer) =>
    (inspections.get(computerKey(computer, computer.name))?.servers ?? [])
      .filter(({ state }) => stateTones[state] === "bad")
      .map((server) => ({ computer, server }))
  )

/** The calls of a member that run or wait, and those that ended or failed a moment ago. */
const noTraffic = { running: 0, waiting: 0, ended: 0, failed: 0 }

/** Computers that are drawn; the others share a node. */
export const maxDrawn = 12

/** Parts that are drawn; of more, those that do well share a node at each Computer. */
const maxParts = 24

/** How long an ended call moves, and how long a failed one is shown, in milliseconds. */
const endedMillis = 2_000
const failedMillis = 10_000

/** The calls of the tools of an office, by their Agents and Computers. */
const measureTraffic = ({ calls }: PageState, { line, office }: OfficeSummary, now: number) => {
  const traffic = new Map<string, typeof noTraffic>()
  for (const { call } of calls.values()) {
    if (call.office !== office || call.line !== line || !isToolCall(call)) continue
    const age = now - (call.endedAt ?? now)
    if (age > failedMillis) continue
    const phase = phaseOf(call)
    for (const key of [`agent ${call.agent}`, `computer ${call.computer}`]) {
      const sum = traffic.get(key) ?? { ...noTraffic }
      traffic.set(key, sum)
      if (phase === "running") sum.running += 1
      else if (call.endedAt === undefined) sum.waiting += 1
      else if (age <= endedMillis) sum.ended += 1
      if (phase === "failed") sum.failed += 1
    }
  }
  return ({ name, role }: { readonly name: string; readonly role: string }): Readonly<typeof noTraffic> =>
    traffic.get(`${role} ${name}`) ?? noTraffic
}

/** An MCP server, a device or a pack of a Computer; or several of them that do well. */
const partOf = (kind: "server" | InspectedPart["kind"] | "several", name: string, state: string) => ({
  kind,
  name,
  state,
  tone: stateTones[state] ?? "idle"
})

type DrivenPart = ReturnType<typeof partOf>

const needsAttention = ({ tone }: DrivenPart): boolean => tone === "bad" || tone === "waiting"

/** Puts the parts that do well into one. */
const collapse = (parts: ReadonlyArray<DrivenPart>): ReadonlyArray<DrivenPart> => {
  const calm = parts.filter((part) => !needsAttention(part)).length
  if (calm < 2) return parts
  return [...parts.filter(needsAttention), partOf("several", `${calm} more`, "ready")]
}

/**
 * Describes an office as a picture: its Agents, its Computers with what they drive, and the calls between them at the time `now`.
 * Of many Computers those that need attention or have calls are drawn.
 */
export const drawOffice = (state: PageState, office: OfficeSummary, now: number) => {
  const trafficOf = measureTraffic(state, office, now)
  const draw = (member: PageMember) => {
    const inspection = member.role === "computer" ? state.inspections.get(computerKey(office, member.name)) : undefined
    const { parts: others = [], servers = [] } = inspection ?? {}
    const parts = [
      ...servers.map(({ name, state }) => partOf("server", name, state)),
      ...others.map(({ kind, name, state }) => partOf(kind, name, state))
    ]
    const traffic = trafficOf(member)
    const tones = new Set([...parts.map(({ tone }) => tone), ...(traffic.waiting > 0 ? ["waiting"] : [])])
    const tone: Tone = tones.has("bad") ? "bad" : tones.has("waiting") ? "waiting" : "good"
    const rank = tone === "bad" || traffic.failed > 0 ? 0 : tone === "waiting" ? 1 : traffic.running > 0 ? 2 : 3
    return { member, parts, tone, rank, ...traffic }
  }
  const all = office.computers.map(draw)
  // Equal ranks keep the order of the names.
  const sorted = all.length > maxDrawn ? all.toSorted((one, other) => one.rank - other.rank) : all
  const drawn = sorted.slice(0, maxDrawn)
  const isDense = drawn.reduce((sum, { parts }) => sum + parts.length, 0) > maxParts
  return {
    agents: office.agents.map(draw),
    computers: isDense ? drawn.map((one) => ({ ...one, parts: collapse(one.parts) })) : drawn,
    /** The Computers that share a node. */
    others: sorted.slice(maxDrawn)
  }
}
