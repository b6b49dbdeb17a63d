import { Schema } from "effect"
import { JsonObject } from "../../json.ts"
import { Identifier, InputModes, optionalField, TimeoutSeconds } from "../fields.ts"

/** How long a Computer keeps the result of a task, in milliseconds. */
export const taskRetention = 60 * 60 * 1000

/** How long a query may wait for a change, in whole seconds. */
const maxTaskWaitSeconds = 60

/** Starts a call that outlives its request. Its Agent chooses the id: one that is repeated joins the same call. */
export const TaskStart = Schema.Struct({
  id: Identifier,
  tool: Identifier,
  params: JsonObject,
  timeout: TimeoutSeconds,
  /** As those of a call. */
  inputModes: optionalField(InputModes)
})
export type TaskStart = typeof TaskStart.Type

/** Asks for the state of a task: at once, or after a change of the version that the Agent has seen. */
export const TaskQuery = Schema.Struct({
  id: Identifier,
  seen: optionalField(Schema.Int),
  wait: optionalField(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxTaskWaitSeconds })))
})
export type TaskQuery = typeof TaskQuery.Type

/** The state of a task. Times are in milliseconds of the epoch. */
export const TaskView = Schema.Struct({
  /** The name of the tool in the office. */
  tool: Identifier,
  state: Schema.Literals(["working", "completed", "cancelled"]),
  /** Increases with every change. */
  version: Schema.Int,
  createdAt: Schema.Finite,
  updatedAt: Schema.Finite,
  /** The latest status of the call, encoded as the report to its Agent. */
  report: optionalField(JsonObject),
  /** The result of a completed call, encoded as that of a call. */
  result: optionalField(JsonObject)
})
export type TaskView = typeof TaskView.Type
