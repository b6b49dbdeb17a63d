import { Effect, FileSystem, Result } from "effect"
import { readComputerConfig } from "../domain/config/config.ts"
import type { ComputerConfig } from "../domain/protocol/v0_2/config.ts"
import { CommandFailed } from "./failure.ts"

const refuse = (message: string) => Effect.fail(new CommandFailed({ message }))

const readFile = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.catch(fs.readFileString(file), (error) =>
    refuse(`Cannot read ${file}: ${error.message}`)
  )
  const value = Result.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => `${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`
  })
  if (Result.isFailure(value)) return yield* refuse(value.failure)
  const config = readComputerConfig(value.success)
  return Result.isFailure(config) ? yield* refuse(`${file}: ${config.failure}`) : config.success
})

/** Reads the configuration of a Computer from one or several files; what two of them define is refused. */
export const loadConfig = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const servers = new Map<string, string>()
  const inputs = new Map<string, string>()
  let merged: ComputerConfig = { inputs: [], servers: {} }
  for (const file of files) {
    const config = yield* readFile(file)
    const claims = [
      ...Object.keys(config.servers).map((name) => ["server", name, servers] as const),
      ...config.inputs.map(({ id }) => ["input", id, inputs] as const)
    ]
    for (const [kind, name, owners] of claims) {
      const owner = owners.get(name)
      if (owner !== undefined)
        return yield* refuse(`${kind} "${name}" is defined in both ${owner} and ${file}`)
      owners.set(name, file)
    }
    merged = {
      inputs: [...merged.inputs, ...config.inputs],
      servers: { ...merged.servers, ...config.servers }
    }
  }
  return merged
})
