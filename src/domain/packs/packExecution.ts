import { Schema } from "effect"
import { JsonObject } from "../json.ts"
import { maxIdentifierLength, optionalField } from "../model/fields.ts"

const Name = Schema.String.check(Schema.isMaxLength(maxIdentifierLength))
const Url = Schema.String.check(Schema.isMaxLength(2048))

/** One hour. */
const maxTimeoutSeconds = 3600

/** Beside each endpoint: takes the task and the session of a call with its parameters. */
export const executionPath = "/execute"

/** The body of `POST {endpoint}/execute`, as later versions of Automata have it. */
export const ExecutionRequest = Schema.Struct({
  task: Schema.Struct({ task_id: Name, user_id: Name, account_id: Name, platform: Name, action: Name }),
  session: optionalField(Schema.Struct({ session_id: Name, cdp_url: Url })),
  payload: JsonObject,
  options: optionalField(
    Schema.Struct({
      timeout: optionalField(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxTimeoutSeconds }))),
      retry: optionalField(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)))
    })
  )
})

type Execution = typeof ExecutionRequest.Type

/** What a Python pack learns of an execution, by the names of its `ExecutionContext`; the timeout is in seconds. */
export type PackExecution = Execution["task"] &
  Partial<NonNullable<Execution["session"]>> &
  NonNullable<Execution["options"]>
