/** Worker thread for schemas. The main thread waits for its signal and terminates it after a timeout. */
import { type MessagePort, workerData } from "node:worker_threads"
import type { ErrorObject, ValidateFunction } from "ajv"
import { Result } from "effect"
import { errorMessage } from "../../domain/errorMessage.ts"
import { type JsonObject, parseJsonOrThrow } from "../../domain/json.ts"
import { makeSchemaCache, validationErrors } from "./ajvCompiler.ts"

export interface WorkerData {
  readonly port: MessagePort
  /** Set to 1 with every response and when the worker is ready. */
  readonly signal: Int32Array
}

/** A schema to compile, as JSON, or a value to validate with a compiled schema. */
export type WorkerRequest =
  | { readonly key: string; readonly schema: string }
  | { readonly key: string; readonly value: unknown }

export type WorkerResponse =
  /** A schema is unknown when it is not compiled, or no longer cached. */
  | { readonly outcome: "compiled" | "unknown_schema" }
  | { readonly outcome: "checked"; readonly errors: ReadonlyArray<ErrorObject> }
  /** The schema is invalid, or fails for this value. */
  | { readonly outcome: "failed"; readonly message: string }

const { port, signal }: WorkerData = workerData

const validators = makeSchemaCache<ValidateFunction>()

const handleRequest = (request: WorkerRequest): WorkerResponse => {
  if ("schema" in request) {
    const { key, schema } = request
    validators.add(key, schema.length, (compile) => compile(parseJsonOrThrow(schema) as JsonObject))
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
  const onError = (error: unknown): WorkerResponse => ({ outcome: "failed", message: errorMessage(error) })
  port.postMessage(Result.merge(Result.try({ try: () => handleRequest(request), catch: onError })))
  signalReady()
})
signalReady()
