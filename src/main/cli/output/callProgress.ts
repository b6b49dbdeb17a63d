import { Clock, Duration, Effect, Match, Schedule } from "effect"
import { statusLine } from "../../../adapters/log/statusLine.ts"
import type { McpProgress } from "../../../application/ports/McpSession.ts"
import { type CallStatus, formatDecided, formatServerNames } from "../../../domain/model/CallStatus.ts"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { formatDuration } from "../../../domain/text/format.ts"
import { shortId } from "./approvalText.ts"
import { fitText } from "./columns.ts"
import { printProgress } from "./print.ts"
import { statusTerminal } from "./screen.ts"

const formatCount = ({ progress, total }: McpProgress): string =>
  total === undefined ? String(progress) : `${progress} of ${total}`

const formatSeconds = (millis: number): string => formatDuration(Math.round(millis / 1000) * 1000)

const barColumns = 20

/** Formats one line of at most `columns`: a bar where the end is known, the elapsed time, an estimate and the message. */
export const formatProgressLine = (step: McpProgress | undefined, elapsed: number, columns: number): string => {
  if (step === undefined) return fitText(`running, ${formatSeconds(elapsed)}`, columns).trimEnd()
  const { message = "", progress, total = 0 } = step
  const share = total > 0 ? Math.min(1, Math.max(0, progress / total)) : undefined
  const full = Math.round((share ?? 0) * barColumns)
  const left = share !== undefined && share > 0 && share < 1 ? (elapsed * (1 - share)) / share : undefined
  const parts = [
    ...(share === undefined ? [] : ["█".repeat(full) + "░".repeat(barColumns - full)]),
    formatCount(step),
    `${formatSeconds(elapsed)}${left === undefined ? "" : `, about ${formatSeconds(left)} left`}`,
    escapeForTerminal(message)
  ]
  return fitText(parts.join("  "), columns).trimEnd()
}

const describeStatus = Match.typeTags<Exclude<CallStatus, { readonly _tag: "Progressing" }>, string>()({
  WaitingForConsent: ({ approval, computer }) => {
    if (approval === undefined) return `waiting for consent at ${computer}, at its terminal`
    const awaited = approval.isQuestion === true ? "the answer to a question" : "an approval"
    const time = Duration.format(Duration.seconds(approval.waitSeconds))
    const places = "to be given, as its owner permits, at its terminal, on the office page or by this Agent"
    return `waiting for ${awaited} at ${computer}, for at most ${time}; ${places}`
  },
  Decided: (status) => `${formatDecided(status)}, at ${status.computer}`,
  WaitingForServers: ({ computer, servers }) =>
    `waiting for servers that start at ${computer}: ${formatServerNames(servers)}`
})

/**
 * Makes functions that report a call on stderr. A terminal shows its progress in one line that changes every second until
 * the scope closes; elsewhere each step has its line, after `place`.
 * `commandFor` formats the command that decides about an approval.
 */
export const makeCallProgress = Effect.fnUntraced(function* (commandFor?: (action: string, id: string) => string) {
  const terminal = statusTerminal()
  const start = yield* Clock.currentTimeMillis
  let latest: McpProgress | undefined
  const draw = Effect.map(Clock.currentTimeMillis, (now) => {
    if (terminal !== undefined) statusLine.show(terminal, formatProgressLine(latest, now - start, terminal.columns))
  })
  if (terminal !== undefined) {
    yield* Effect.addFinalizer(() => Effect.sync(statusLine.clear))
    yield* Effect.forkScoped(Effect.delay(Effect.repeat(draw, Schedule.spaced("1 second")), "1 second"))
  }
  const onProgress = (step: McpProgress, place = ""): Effect.Effect<void> => {
    latest = step
    const message = step.message === undefined || step.message === "" ? "" : `, ${step.message}`
    return terminal === undefined ? printProgress(`progress${place}: ${formatCount(step)}${message}`) : draw
  }
  const commandOf = (status: CallStatus): string | undefined => {
    if (status._tag !== "WaitingForConsent" || status.approval === undefined) return undefined
    const { id, isQuestion } = status.approval
    return commandFor?.(isQuestion === true ? "answer" : "allow", shortId(id))
  }
  const onStatus = (status: CallStatus): Effect.Effect<void> =>
    status._tag === "Progressing"
      ? onProgress(status, ` at ${status.computer}`)
      : printProgress(describeStatus(status), commandOf(status))
  return { onProgress, onStatus }
})
