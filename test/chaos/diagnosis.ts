import { Effect } from "effect"
import type { Fleet } from "./Fleet.ts"
import type { Pair } from "./Ledger.ts"
import type { MemberPart, ServerPart } from "./parts.ts"
import type { Kept } from "./Process.ts"
import { type ServerStatus, statusOf } from "./serverStatus.ts"

const indent = (text: string) => text.replaceAll("\n", "\n      ")

/** The process of a part and its last lines. */
const processLines = ({ current }: Kept): ReadonlyArray<string> => {
  const process = current()
  if (process === undefined) return ["    not running"]
  const words = process.lastWords()
  return [`    process ${process.pid}, last lines:`, `      ${indent(words || "nothing")}`]
}

const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`

const wayLine = ({ server, way }: MemberPart): string => {
  const { carrying, silent } = way.connections()
  const last = server()
  const to = last === undefined ? "no Server so far" : `server ${last + 1}`
  return `    last proxy target ${to}: ${count(carrying, "connection")}, and ${silent} silent ones`
}

const counts = (numbers: { readonly [name: string]: number }) =>
  Object.entries(numbers)
    .map(([name, number]) => `${name} ${number}`)
    .join(", ")

const formatStatus = ({ components, gauges, members, officeList, state, totals }: ServerStatus) => {
  const offices = officeList.map(
    ({ agents, computers, line, office }) =>
      `${office} (${line}) with ${count(agents, "Agent")} and ${count(computers, "Computer")}`
  )
  const failing = Object.entries(components).flatMap(([component, { error, ok }]) =>
    ok ? [] : [`${component}: ${error}`]
  )
  return [
    `${state}; ${count(members.agents, "Agent")}, ${count(members.computers, "Computer")}: ${offices.join(", ")}`,
    ...(failing.length === 0 ? [] : [`failing components: ${failing.join(", ")}`]),
    `calls ended: ${counts(totals.outcomes)}; rejected by limits: ${counts(totals.limitRejections) || "none"}; ` +
      `connections rejected: ${counts(totals.rejectedConnections) || "none"}`,
    `gauges: ${counts(gauges)}`
  ].map((line) => `    ${line}`)
}

const serverLines = (server: ServerPart) =>
  Effect.gen(function* () {
    const port = server.port()
    const details =
      port === undefined
        ? ["    not listening"]
        : yield* Effect.match(statusOf(port), {
            onFailure: (reason) => [`    ${reason}`],
            onSuccess: formatStatus
          })
    return [`  ${server.name}:`, ...details, ...processLines(server.kept)]
  })

/**
 * Diagnoses pairs, as lines: the outcomes of their calls since this moment, the state of their members, and the
 * status of all Servers.
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
      const ends = counts(ledger.since({ agent, computer }, since)) || "no call started"
      return `  calls of ${agent} to ${computer} since the last fault: ${ends}`
    })
    const ofAgents = agents
      .filter(isConcerned)
      .flatMap((agent) => [
        `  Agent ${agent.name}:`,
        `    ${agent.standing()}`,
        wayLine(agent),
        ...processLines(agent.kept)
      ])
    const ofComputers = computers
      .filter(isConcerned)
      .flatMap((computer) => [`  Computer ${computer.name}:`, wayLine(computer), ...processLines(computer.kept)])
    const ofServers = yield* Effect.forEach(servers, serverLines, { concurrency: "unbounded" })
    return [...calls, ...ofAgents, ...ofComputers, ...ofServers.flat()]
  })
