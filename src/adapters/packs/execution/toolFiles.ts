import { openAsBlob } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Result, type Scope } from "effect"
import { type PackCall, PackError, type PackFile } from "../../../application/ports/packs/PackLoader.ts"
import { type EmbeddedFile, parseEmbeddedFile } from "../../../domain/packs/params/embeddedFile.ts"
import { findRoundedIntegers, type JsonObject, roundedIntegersProblem } from "../../../domain/json.ts"
import { coerceForm } from "../../../domain/packs/params/coerceParams.ts"
import { type PackRoute, type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"
import type { ToolFile } from "../author/ToolFile.ts"
import { invalidParamsError } from "../../tools/runPackCode.ts"

/** Makes a folder for the files of one call, private to this user; the scope removes it. */
export const makeTemporaryFolder = (prefix: string, parent = tmpdir()): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(parent, prefix))),
    (folder) =>
      Effect.catch(
        Effect.tryPromise(() => rm(folder, { recursive: true, force: true })),
        ({ cause }) => Effect.logWarning("removing uploaded files failed", { folder }, cause)
      )
  )

const decodeFileData = ({ data, encoding }: EmbeddedFile): Buffer =>
  encoding === "base64"
    ? Buffer.from(data, "base64")
    : Buffer.from(
        data.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        "latin1"
      )

const valuesOf = (value: unknown, multiple: boolean): ReadonlyArray<unknown> => {
  if (value === undefined || value === null) return []
  return multiple && Array.isArray(value) ? value : [value]
}

/** Writes files embedded in the arguments of a call to disk, like uploads, until the scope closes. */
export const writeEmbeddedFiles = Effect.fnUntraced(function* (fileParams: PackRoute["files"], call: PackCall) {
  const names = call.form ? [] : Object.keys(fileParams).filter((name) => Object.hasOwn(call.params, name))
  if (names.length === 0) return call
  const path = yield* makeTemporaryFolder("a2c-files-")
  const params = { ...call.params }
  const files: { [name: string]: ReadonlyArray<PackFile> } = { ...call.files }
  const problems: Array<ParamsProblem> = []
  let count = 0
  for (const name of names) {
    const written: Array<PackFile> = []
    for (const value of valuesOf(params[name], fileParams[name]?.multiple === true)) {
      const parsed = parseEmbeddedFile(value)
      if (Result.isFailure(parsed)) {
        problems.push(paramsProblem(parsed.failure, [name]))
        continue
      }
      const { contentType, filename } = parsed.success
      const bytes = decodeFileData(parsed.success)
      const file = join(path, String(count++))
      yield* Effect.promise(() => writeFile(file, bytes, { mode: 0o600 }))
      written.push({ filename, contentType, size: bytes.length, path: file })
    }
    delete params[name]
    if (written.length > 0) files[name] = written
  }
  return problems.length === 0 ? { ...call, params, files } : yield* invalidParamsError(problems)
})

const openToolFile = ({ contentType, filename, path }: PackFile): Effect.Effect<ToolFile, PackError> =>
  Effect.tryPromise({
    try: async () => {
      const file = new File([await openAsBlob(path)], filename, { type: contentType })
      return Object.assign(file, { filename, contentType, path, read: () => file.bytes() })
    },
    catch: () => new PackError({ reason: "failed", message: `the file ${filename} no longer exists` })
  })

/** Finds surplus files, and texts in the place of files. */
const checkFileParams = (fileParams: PackRoute["files"], { params, files }: PackCall): ReadonlyArray<ParamsProblem> =>
  Object.entries(fileParams).flatMap(([name, { multiple }]) => {
    const count = files[name]?.length ?? 0
    if (!multiple && count > 1) return [paramsProblem(`one file is expected, not ${count}`, [name])]
    const isText = count === 0 && typeof params[name] === "string"
    return isText ? [paramsProblem("a file is expected, not a text", [name])] : []
  })

/**
 * The parameters of a call, with the texts of a form converted by the schema. Fails for misplaced files, and for integers
 * that JSON numbers round.
 */
export const toParams = (schema: JsonObject, fileParams: PackRoute["files"], call: PackCall) => {
  const misplaced = checkFileParams(fileParams, call)
  if (misplaced.length > 0) return Effect.fail(invalidParamsError(misplaced))
  const [rounded] = findRoundedIntegers(call.params)
  return rounded === undefined
    ? Effect.succeed(call.form ? coerceForm(schema, call.params) : call.params)
    : Effect.fail(invalidParamsError([paramsProblem(`${rounded}: ${roundedIntegersProblem}`)]))
}

/** Opens the files of a call by parameter; files without a parameter are ignored. */
export const openToolFiles = Effect.fnUntraced(function* (fileParams: PackRoute["files"], { files }: PackCall) {
  const opened = new Map<string, ToolFile | ReadonlyArray<ToolFile>>()
  for (const [name, { multiple }] of Object.entries(fileParams)) {
    const [first, ...rest] = yield* Effect.forEach(files[name] ?? [], openToolFile)
    if (first !== undefined) opened.set(name, multiple ? [first, ...rest] : first)
  }
  return Object.fromEntries(opened)
})
