/**
 * The thread in which schemas are compiled, and values checked, that may take for ever. It says when it is ready, and
 * answers one question after the other; who asks waits for that, and ends the thread when it takes too long.
 */
import { type MessagePort, workerData } from "node:worker_threads"
import type { ErrorObject, ValidateFunction } from "ajv"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsonObject } from "../../domain/json.ts"
import { validationErrors, makeAjvCompiler, makeSchemaCache } from "./ajvCompiler.ts"

/** What the thread starts with. */
export interface WorkerData {
  readonly port: MessagePort
  /** Turns from 0 to 1 with every answer, and when the thread is ready. */
  readonly signal: Int32Array
}

/** A schema to compile, as JSON, or a value to check by one that was compiled before. */
export type WorkerRequest =
  | { readonly key: string; readonly schema: string }
  | { readonly key: string; readonly value: unknown }

/**
 * What the thread says.
 *
 * - `compiled`: values can be checked
 * - `unknown_schema`: of the schema of this key nothing is known, or not any more
 * - `checked`: what of the value does not fit
 * - `failed`: the schema cannot be used, or not for this value
 */
export type WorkerResponse =
  | { readonly outcome: "compiled" | "unknown_schema" }
  | { readonly outcome: "checked"; readonly errors: ReadonlyArray<ErrorObject> }
  | { readonly outcome: "failed"; readonly message: string }

const { port, signal }: WorkerData = workerData

let compile = makeAjvCompiler()
const validators = makeSchemaCache<ValidateFunction>(() => {
  compile = makeAjvCompiler()
})

const handleRequest = (request: WorkerRequest): WorkerResponse => {
  if ("schema" in request) {
    const { key, schema } = request
    validators.reserve(schema.length)
    validators.set(key, compile(JSON.parse(schema) as JsonObject))
    return { outcome: "compiled" }
  }
  const validate = validators.get(request.key)
  return validate === undefined
    ? { outcome: "unknown_schema" }
    : { outcome: "checked", errors: validationErrors(validate, request.value) }
}

const signalReady = (): void => {
  Atomics.store(signal, 0, 1)
  Atomics.notify(signal, 0)
}

port.on("message", (request: WorkerRequest) => {
  let response: WorkerResponse
  try {
    response = handleRequest(request)
  } catch (error) {
    response = { outcome: "failed", message: errorMessage(error) }
  }
  port.postMessage(response)
  signalReady()
})
signalReady()
