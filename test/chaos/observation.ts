import type { Fleet } from "./Fleet.ts"
import type { LogLine, Outage } from "./outages.ts"
import type { MemberPart, ServerPart } from "./parts.ts"

/** Starts an observation. Its end gives the outage, without the logs of parts that had another fault meanwhile. */
export type Observe = () => (hadOtherFault: (part: string) => boolean) => Outage

/** Commands of one Server per second: far more than those of retries and messages, far fewer than those of a busy loop. */
const maxCommandsOfServer = 200

/** Attempts of one member per second. */
const maxAttempts = 10

/** Starts to collect the warnings of a part. The end gives none when its process has ended meanwhile. */
const collect = ({
  kept,
  warnings
}: {
  readonly kept: MemberPart["kept"]
  readonly warnings: ReadonlyArray<LogLine>
}) => {
  const started = kept.startedAt()
  const first = warnings.length
  return () =>
    started !== undefined && kept.startedAt() === started ? warnings.slice(first).map(({ text }) => text) : undefined
}

/** Observes the Servers while Redis answers with an error. Each warns of it once. */
export const observeRedis =
  ({ redisProxy, servers }: Fleet, kind: string, code: string): Observe =>
  () => {
    const began = performance.now()
    const commands = redisProxy.commands()
    const isConnected = ({ port, wayToRedis }: ServerPart) =>
      port() !== undefined && wayToRedis.connections().carrying > 0
    const logs = servers.map((server) => ({ server, wasConnected: isConnected(server), end: collect(server) }))
    return (hadOtherFault) => ({
      kind,
      seconds: (performance.now() - began) / 1000,
      requests: redisProxy.commands() - commands,
      maxPerSecond: maxCommandsOfServer * servers.length,
      logs: logs.flatMap(({ end, server: { name }, wasConnected }) => {
        const warnings = end()
        const isCertain = wasConnected && !hadOtherFault(name)
        return warnings === undefined ? [] : [{ part: name, warnings, expected: isCertain ? code : undefined }]
      }),
      ended: []
    })
  }

/** Observes a member while its proxy answers for the Servers. It must not end once it has joined. */
export const observeMember =
  ({ ledger, pairs }: Fleet, { http, kept, name, warnings }: MemberPart, kind: string): Observe =>
  () => {
    const began = performance.now()
    const attempts = http.opened.length
    const started = kept.startedAt()
    const hasJoined =
      started !== undefined &&
      pairs.some(
        (pair) => (pair.agent === name || pair.computer === name) && ledger.answeredSince(pair, started) !== undefined
      )
    const end = collect({ kept, warnings })
    return () => ({
      kind,
      seconds: (performance.now() - began) / 1000,
      requests: http.opened.length - attempts,
      maxPerSecond: maxAttempts,
      logs: [{ part: name, warnings: end() ?? [] }],
      ended: hasJoined && kept.startedAt() !== started ? [name] : []
    })
  }
