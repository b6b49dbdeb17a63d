import { join } from "node:path"
import { Option, Schema } from "effect"

const WorkerIdentity = Schema.Struct({
  /** The number of the worker, from 0. */
  index: Schema.Int,
  count: Schema.Int,
  /** The private folder of the sockets by which the workers pass requests on. */
  folder: Schema.String,
  /** Where members connect. */
  url: Schema.String
})

/** One of the processes of a Server that share its port. */
export type WorkerIdentity = typeof WorkerIdentity.Type

/** The variable by which the primary process tells a worker what it is. */
export const workerVariable = "A2C_WORKER"

const Variable = Schema.fromJsonString(WorkerIdentity)

export const encodeWorkerIdentity = Schema.encodeSync(Variable)

/** The identity of a process with this value of the variable; `undefined` for processes that are no workers. */
export const parseWorkerIdentity = (text: string | undefined): WorkerIdentity | undefined =>
  Option.getOrUndefined(Schema.decodeUnknownOption(Variable)(text))

/** The socket where a worker takes the requests of its sessions from the others. */
export const requestSocket = (folder: string, index: number): string => join(folder, `requests-${index}`)
