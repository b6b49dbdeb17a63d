import { Duration, Effect, Option, Scope } from "effect"
import * as AjvValidator from "../../../adapters/ajv/AjvValidator.ts"
import { Agent } from "../../../application/agent/Agent.ts"
import { type CallStatus, formatDecided, formatServerNames } from "../../../domain/model/CallStatus.ts"
import type { InputRequest } from "../../../domain/model/InputRequest.ts"
import { makeParamsCheck } from "../../../application/shared/paramsCheck.ts"
import { convertArguments, type GivenArgument, readArguments } from "../arguments/argumentSource.ts"
import { failCommand } from "../../CommandFailed.ts"
import { printLine, printProgress, printResult, printToolResult } from "../output/print.ts"
import { serverPageUrl } from "../server/serverPage.ts"
import { HasOwnConnection, type SharedIdentity, shareWithCommands } from "../office/officeShare.ts"
import { runAsAgent } from "./actions.ts"
import { findTool, hasApp } from "./findTool.ts"
import type { CallCommandOptions, StartCommandOptions, TaskOptions } from "./flags.ts"
import { makeAnswerPrompt } from "../../../adapters/terminal/answerPrompt.ts"
import * as Dialogue from "../../../adapters/terminal/Dialogue.ts"
import { formatTaskId, parseTaskId } from "../../../domain/office/taskIds.ts"

/** Makes the function that asks questions of MCP servers at the terminal; `undefined` without a terminal. */
export const makeOnInput = Effect.gen(function* () {
  const terminal = yield* Dialogue.processTerminal
  if (Option.isNone(terminal)) return undefined
  const check = yield* Effect.provide(makeParamsCheck, AjvValidator.layer)
  return makeAnswerPrompt(yield* Dialogue.make(terminal.value), check)
})

/** How long the connection stays open at most for other commands that use it. */
const maxOthersWait = Duration.seconds(5)

const formatSeconds = (seconds: number): string => Duration.format(Duration.seconds(seconds))

const printStatus = (status: CallStatus): Effect.Effect<void> => {
  switch (status._tag) {
    case "WaitingForConsent":
      return printProgress(
        status.approval === undefined
          ? `waiting for consent at ${status.computer}`
          : `waiting for ${status.approval.isQuestion === true ? "the answer to a question" : "an approval"} at ${status.computer}, for at most ${formatSeconds(status.approval.waitSeconds)}`
      )
    case "Decided":
      return printProgress(`${formatDecided(status)}, at ${status.computer}`)
    case "WaitingForServers":
      return printProgress(`waiting for servers that start at ${status.computer}: ${formatServerNames(status.servers)}`)
    case "Progressing": {
      const { computer, message = "", progress, total } = status
      const count = total === undefined ? String(progress) : `${progress} of ${total}`
      return printProgress(`progress at ${computer}: ${count}${message === "" ? "" : `, ${message}`}`)
    }
  }
}

/**
 * Prints the statuses of a call, and shares the connection of the command from the first approval for which the call waits:
 * an approval takes time, and the same user may decide about it by another command.
 */
const shareWhileWaiting = Effect.fnUntraced(function* (identity: SharedIdentity) {
  const agent = yield* Agent
  const scope = yield* Effect.scope
  let canShare = yield* HasOwnConnection
  let othersDone: Effect.Effect<void> = Effect.void
  const share = shareWithCommands(identity).pipe(
    Effect.provideService(Agent, agent),
    Scope.provide(scope),
    Effect.map((unused) => void (othersDone = unused)),
    Effect.forkIn(scope)
  )
  return {
    onStatus: (status: CallStatus): Effect.Effect<void> =>
      Effect.andThen(
        printStatus(status),
        Effect.suspend(() => {
          if (!canShare || status._tag !== "WaitingForConsent" || status.approval === undefined) return Effect.void
          canShare = false
          return Effect.asVoid(share)
        })
      ),
    /** The command that decided waits for its reply. */
    othersDone: Effect.asVoid(
      Effect.timeoutOption(
        Effect.suspend(() => othersDone),
        maxOthersWait
      )
    )
  }
})

/** Converts arguments by the schema of the tool, and checks them like its Computer does. */
const prepareCall = Effect.fnUntraced(function* (
  given: ReadonlyArray<GivenArgument>,
  { computer: wanted, timeout, tool: name }: StartCommandOptions
) {
  const search = {
    name,
    computer: wanted,
    timeout: Duration.seconds(timeout),
    awaitsServers: true,
    onStatus: printStatus
  }
  const { computer, tool } = yield* findTool(search)
  const params = yield* Effect.catch(Effect.fromResult(convertArguments(tool.paramsSchema, given)), (reason) =>
    failCommand(`The tool '${name}' ${reason}`)
  )
  const check = yield* Effect.provide(makeParamsCheck, AjvValidator.layer)
  const errors = yield* check(tool.paramsSchema, params)
  if (errors.length === 0) return { computer, params }
  const list = errors.map((error) => `\n- ${error}`).join("")
  return yield* failCommand(`Tool '${name}' was not called: its arguments do not fit its schema.${list}`)
})

/** Calls a tool. Arguments by key need its schema; all others are sent without a further request. */
export const callTool = Effect.fnUntraced(function* (options: CallCommandOptions) {
  const { args, computer, timeout, tool, words } = options
  const given = yield* readArguments(words, args)
  const call = Effect.gen(function* () {
    const target =
      given._tag === "Whole" ? { computer, params: given.params } : yield* prepareCall(given.given, options)
    const agent = yield* Agent
    const { onStatus, othersDone } = yield* shareWhileWaiting(options)
    const onInput = yield* makeOnInput
    const answers = onInput && { onInput: (request: InputRequest) => onInput(request, { tool }) }
    const result = yield* agent.callTool({ ...target, ...answers, tool, timeout, onStatus })
    const printed = yield* Effect.exit(printToolResult(result, result, options))
    if (hasApp(yield* agent.view, tool, target.computer)) {
      const { origin } = yield* serverPageUrl(options.server, "/office/")
      yield* printProgress(
        `the tool has an app, which the office page shows where the Server has one: ${origin}/office/`
      )
    }
    yield* othersDone
    return yield* printed
  })
  yield* runAsAgent(call, options)
})

/** Starts a call at its Computer and prints the id of the task. */
export const startTool = Effect.fnUntraced(function* (options: StartCommandOptions) {
  const { args, computer, timeout, tool, words } = options
  const given = yield* readArguments(words, args)
  const start = Effect.gen(function* () {
    const target =
      given._tag === "Whole" ? { computer, params: given.params } : yield* prepareCall(given.given, options)
    const { startTool: startTask } = yield* Agent
    const task = yield* startTask({ ...target, tool, timeout, onStatus: printStatus })
    if (task.endsWithAgent) {
      yield* task.cancel
      return yield* failCommand(`Computer '${task.computer}' runs no calls beyond this command: use 'call'`)
    }
    const id = formatTaskId(task)
    yield* options.json ? printResult(options, { id, computer: task.computer }, "") : printLine(id)
  })
  yield* runAsAgent(start, options)
})

/** Waits for the result of a started call, or prints its state, or cancels it. */
export const showTask = Effect.fnUntraced(function* (options: TaskOptions) {
  const place = parseTaskId(options.id)
  if (place === undefined)
    return yield* failCommand(`'${options.id}' must be the ID of a started call, such as 3f2a@desk`)
  const show = Effect.gen(function* () {
    const agent = yield* Agent
    const { onStatus, othersDone } = yield* shareWhileWaiting(options)
    const task = agent.task(place.computer, place.id, { onStatus })
    if (options.cancel) yield* task.cancel
    if (!options.status && !options.cancel) {
      const result = yield* task.result
      const printed = yield* Effect.exit(printToolResult(result, result, options))
      yield* othersDone
      return yield* printed
    }
    const status = yield* task.status
    const seconds = Math.round((status.updatedAt - status.createdAt) / 1000)
    const { latest } = status
    const progress =
      latest?._tag === "Progressing" ? `, progress ${latest.progress} ${latest.message ?? ""}`.trimEnd() : ""
    const time = Duration.format(Duration.seconds(seconds))
    yield* printResult(options, status, `${status.state} after ${time}${progress}`)
  })
  yield* runAsAgent(show, options)
})
