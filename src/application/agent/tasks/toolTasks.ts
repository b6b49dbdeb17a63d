import { Clock, Data, Duration, Effect, Result, type Scope, Struct } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { TaskView } from "../../../domain/model/messages/tasks.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { parseToolResult, type ToolResult } from "../../../domain/model/ToolResult.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { toolCancelled } from "../../../domain/tools/errorResults.ts"
import { makeDecoder } from "../../../domain/validation.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import type { McpSessionError } from "../../ports/McpSession.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import { type AgentError, BadReply, checkReply } from "../AgentErrors.ts"
import type { CallStatuses, OnCallStatus } from "../callStatuses.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/**
 * The Computer does not know a task: it left the office or restarted, or has dropped the result after an hour. The call may
 * or may not have run.
 */
export class TaskLost extends Data.TaggedError("TaskLost")<{
  readonly computer: ComputerName
  readonly message: string
}> {}

/** The state of a task, and the name of the tool at its Computer. Times are in milliseconds of the epoch. */
export interface TaskStatus extends Pick<TaskView, "tool" | "state" | "createdAt" | "updatedAt"> {
  /** The latest status of the call: its progress, or why it waits. */
  readonly latest?: CallStatus
}

/** A call that runs at its Computer, also while this Agent is disconnected or restarts. */
export interface ToolTask {
  readonly id: string
  readonly computer: ComputerName
  /** True where the call ends with this Agent: at a Computer of another implementation. */
  readonly endsWithAgent: boolean
  readonly status: Effect.Effect<TaskStatus, AgentError | TaskLost>
  /** Waits for the result, also through lost connections. Interruption does not cancel the call. */
  readonly result: Effect.Effect<ToolResult, AgentError | TaskLost>
  /** Cancels the call unless it has ended. */
  readonly cancel: Effect.Effect<void, AgentError | TaskLost>
}

/** How long one request waits at the Computer for a change, in seconds. Servers end longer ones. */
const waitSeconds = 20

const retryInterval = Duration.seconds(1)

/** How long the Agent waits for a Computer that it cannot reach. */
const awayTimeout = Duration.minutes(10)

const awayCodes: ReadonlyArray<number> = [
  errorCodes.notFound,
  errorCodes.timeout,
  errorCodes.tooManyRequests,
  errorCodes.unavailable,
  errorCodes.notInOffice
]

/** True for an error that a reconnect of the Agent, the Server or the Computer can end. */
const isAway = (error: AgentError | TaskLost): boolean =>
  error._tag === "Disconnected" ||
  error._tag === "ServerTimeout" ||
  (error._tag === "ProtocolError" && awayCodes.includes(error.code))

type TaskMethod = "tasks/get" | "tasks/cancel"

interface TaskParts extends Pick<ToolTask, "computer" | "id"> {
  /** Sends a request to the Computer of the task; the time in whole seconds. */
  readonly send: (
    method: TaskMethod,
    params: JsonObject,
    timeout?: number
  ) => Effect.Effect<JsonObject, AgentError | McpSessionError>
  readonly statuses: CallStatuses
  readonly line: Pick<ProtocolLine, "decodeCallStatus">
  /** Reads the blobs of a result. */
  readonly restore: (result: ToolResult) => Effect.Effect<ToolResult>
  /** Makes the listener to the statuses of the call, for as long as the scope. */
  readonly receiver: Effect.Effect<OnCallStatus, never, Scope.Scope>
}

const decodeTaskView = makeDecoder(TaskView)

export const makeToolTask = ({ computer, id, line, receiver, restore, send, statuses }: TaskParts): ToolTask => {
  const request = (method: TaskMethod, params: JsonObject, timeout?: number) =>
    send(method, { id, ...params }, timeout).pipe(
      Effect.catchTag("McpSessionError", ({ code, message }) =>
        Effect.fail(
          code === jsonRpcCodes.invalidParams ? new TaskLost({ computer, message }) : new BadReply({ message })
        )
      ),
      Effect.flatMap((view) => checkReply(decodeTaskView(view)))
    )

  const reportOf = ({ report }: TaskView) =>
    report === undefined ? undefined : Result.getOrUndefined(line.decodeCallStatus(report))

  /** Passes the reports on to the listener of this id. */
  const awaitResult = Effect.fnUntraced(function* (listener: string) {
    let seen = 0
    /** The report that was passed on last: every view has the latest one. */
    let passed = ""
    let awaySince: number | undefined
    while (true) {
      const outcome = yield* Effect.result(request("tasks/get", { seen, wait: waitSeconds }, waitSeconds))
      if (Result.isFailure(outcome)) {
        const now = yield* Clock.currentTimeMillis
        awaySince ??= now
        if (!isAway(outcome.failure) || now - awaySince >= Duration.toMillis(awayTimeout)) return yield* outcome.failure
        // A lost connection forgets what the task waits for, and interrupts an answer on its way.
        seen = 0
        passed = ""
        yield* Effect.sleep(retryInterval)
        continue
      }
      awaySince = undefined
      const view = outcome.success
      seen = view.version
      const report = reportOf(view)
      const text = JSON.stringify(view.report)
      if (report !== undefined && text !== passed) {
        passed = text
        yield* statuses.receive({ ...report, reqId: listener })
      }
      if (view.state === "cancelled") return toolCancelled()
      if (view.state === "completed") return yield* restore(yield* checkReply(parseToolResult(view.result)))
    }
  })

  return {
    id,
    computer,
    endsWithAgent: false,
    status: Effect.map(request("tasks/get", {}), (view) => ({
      ...Struct.pick(view, ["tool", "state", "createdAt", "updatedAt"]),
      ...definedOnly({ latest: reportOf(view)?.status })
    })),
    // Several may wait for a task: each listens under a separate id.
    result: Effect.scoped(
      Effect.gen(function* () {
        const [onStatus, reqId] = yield* Effect.all([receiver, makeRequestId])
        return yield* statuses.listen({ reqId, computer, onStatus }, () => awaitResult(reqId))
      })
    ),
    cancel: Effect.asVoid(request("tasks/cancel", {}))
  }
}
