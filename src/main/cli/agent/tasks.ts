import { Duration, Effect } from "effect"
import { Agent } from "../../../application/agent/Agent.ts"
import { formatTaskId, parseTaskId } from "../../../domain/office/taskIds.ts"
import { readArguments } from "../arguments/argumentSource.ts"
import { failCommand } from "../../CommandFailed.ts"
import { printLine, printResult, printToolResult } from "../output/print.ts"
import { runAsAgent } from "./actions.ts"
import { prepareCall, printStatus, shareWhileWaiting } from "./callTool.ts"
import type { StartCommandOptions, TaskOptions } from "./flags.ts"

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
