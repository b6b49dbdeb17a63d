import { Effect } from "effect"
import type { Fleet } from "./Fleet.ts"
import type { Pair } from "./Ledger.ts"
import type { MemberPart, ServerPart } from "./parts.ts"
import type { Kept } from "./Process.ts"
import { type ServerStatus, statusOf } from "./serverStatus.ts"

const indent = (text: string) => text.replaceAll("\n", "\n      ")

/** The process of a part, and what it said last. */
const processLines = ({ current }: Kept): ReadonlyArray<string> => {
  const process = current()
  if (process === undefined) return ["    it does not run"]
  const words = process.lastWords()
  return [`    process ${process.pid}, which said last:`, `      ${indent(words || "nothing")}`]
}

const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`

const wayLine = ({ server, way }: MemberPart): string => {
  const { carrying, silent } = way.connections()
  const last = server()
  const to = last === undefined ? "no Server so far" : `server ${last + 1}`
  return `    its way went to ${to} last: ${count(carrying, "connection")}, and ${silent} that carry nothing`
}

const counts = (numbers: { readonly [name: string]: number }) =>
  Object.entries(numbers)
    .map(([name, number]) => `${name} ${number}`)
    .join(", ")

const formatStatus = ({ components, gauges, members, officeList, state, totals }: ServerStatus) => {
  const offices = officeList.map(
    ({ agents, computers, office }) =>
      `${office} with ${count(agents, "Agent")} and ${count(computers, "Computer")}`
  )
  const failing = Object.entries(components).flatMap(([component, { error, ok }]) =>
    ok ? [] : [`${component}: ${error}`]
  )
  return [
    `${state}; ${count(members.agents, "Agent")}, ${count(members.computers, "Computer")}: ${offices.join(", ")}`,
    ...(failing.length === 0 ? [] : [`does not work: ${failing.join(", ")}`]),
    `calls ended: ${counts(totals.outcomes)}; refused by limits: ${counts(totals.limitRejections) || "none"}; ` +
      `turned away: ${counts(totals.rejectedConnections) || "nobody"}`,
    `gauges: ${counts(gauges)}`
  ].map((line) => `    ${line}`)
}

const serverLines = (server: ServerPart) =>
  Effect.gen(function* () {
    const port = server.port()
    const told =
      port === undefined
        ? ["    it does not listen"]
        : yield* Effect.match(statusOf(port), {
            onFailure: (reason) => [`    ${reason}`],
            onSuccess: formatStatus
          })
    return [`  ${server.name}:`, ...told, ...processLines(server.kept)]
  })

/**
 * All that can be known of why these pairs do not work, in lines: what became of their calls since this moment, where
 * their members stand, and how every Server is.
 */
export const diagnose = (
  { agents, computers, ledger, servers }: Fleet,
  pairs: ReadonlyArray<Pair>,
  since: number
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const isConcerned = ({ name }: MemberPart) =>
      pairs.some(({ agent, computer }) => name === agent || name === computer)
    const calls = pairs.map(({ agent, computer }) => {
      const ends = counts(ledger.since({ agent, computer }, since)) || "none has begun"
      return `  calls of ${agent} to ${computer} since all faults were over: ${ends}`
    })
    const ofAgents = agents
      .filter(isConcerned)
      .flatMap((agent) => [
        `  ${agent.name}, an Agent:`,
        `    ${agent.standing()}`,
        wayLine(agent),
        ...processLines(agent.kept)
      ])
    const ofComputers = computers
      .filter(isConcerned)
      .flatMap((computer) => [
        `  ${computer.name}, a Computer:`,
        wayLine(computer),
        ...processLines(computer.kept)
      ])
    const ofServers = yield* Effect.forEach(servers, serverLines, { concurrency: "unbounded" })
    return [...calls, ...ofAgents, ...ofComputers, ...ofServers.flat()]
  })
