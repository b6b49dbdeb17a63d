import { Buffer } from "node:buffer"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Result, type Scope } from "effect"
import { type PackCall, PackFailure, type UploadedFile } from "../../application/ports/PackLoader.ts"
import { type EmbeddedFile, readEmbedded } from "../../domain/packs/embedded.ts"
import type { PackRoute, ParamsProblem } from "../../domain/packs/offer.ts"

const bytesOf = ({ data, encoding }: EmbeddedFile): Buffer =>
  encoding === "base64"
    ? Buffer.from(data, "base64")
    : Buffer.from(
        data.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
          String.fromCharCode(Number.parseInt(hex, 16))
        ),
        "latin1"
      )

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "a2c-files-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const problem = (name: string, msg: string): ParamsProblem => ({
  loc: ["body", name],
  msg,
  type: "value_error"
})

/** The values of a parameter that shall be files; nothing where there is none. */
const valuesOf = (value: unknown, many: boolean): ReadonlyArray<unknown> => {
  if (value === undefined || value === null) return []
  return many && Array.isArray(value) ? value : [value]
}

/** Puts files that stand in the arguments of a call on disk, where files of forms are, for as long as the scope. */
export const placeFiles = Effect.fnUntraced(function* (
  wanted: PackRoute["files"],
  call: PackCall
): Effect.fn.Return<PackCall, PackFailure, Scope.Scope> {
  const names = call.form ? [] : Object.keys(wanted).filter((name) => Object.hasOwn(call.args, name))
  if (names.length === 0) return call
  const path = yield* folder
  const args = { ...call.args }
  const files: { [name: string]: ReadonlyArray<UploadedFile> } = { ...call.files }
  const problems: Array<ParamsProblem> = []
  let count = 0
  for (const name of names) {
    const placed: Array<UploadedFile> = []
    for (const value of valuesOf(args[name], wanted[name]?.many === true)) {
      const read = readEmbedded(value)
      if (Result.isFailure(read)) {
        problems.push(problem(name, read.failure))
        continue
      }
      const { contentType, filename } = read.success
      const bytes = bytesOf(read.success)
      const file = join(path, String(count++))
      yield* Effect.promise(() => writeFile(file, bytes, { mode: 0o600 }))
      placed.push({ filename, contentType, size: bytes.length, path: file })
    }
    delete args[name]
    if (placed.length > 0) files[name] = placed
  }
  if (problems.length === 0) return { ...call, args, files }
  const message = problems.map(({ loc, msg }) => `${String(loc[1])}: ${msg}`).join("; ")
  return yield* new PackFailure({ kind: "params", message, problems })
})
