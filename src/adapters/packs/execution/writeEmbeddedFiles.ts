import { Buffer } from "node:buffer"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Result, type Scope } from "effect"
import { type PackCall, PackError, type UploadedFile } from "../../../application/ports/packs/PackLoader.ts"
import { type EmbeddedFile, parseEmbeddedFile } from "../../../domain/packs/params/embeddedFile.ts"
import { type PackRoute, type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"
import { makeTemporaryFolder } from "./temporaryFolder.ts"

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
export const writeEmbeddedFiles = Effect.fnUntraced(function* (
  fileParams: PackRoute["files"],
  call: PackCall
): Effect.fn.Return<PackCall, PackError, Scope.Scope> {
  const names = call.form ? [] : Object.keys(fileParams).filter((name) => Object.hasOwn(call.args, name))
  if (names.length === 0) return call
  const path = yield* makeTemporaryFolder("a2c-files-")
  const args = { ...call.args }
  const files: { [name: string]: ReadonlyArray<UploadedFile> } = { ...call.files }
  const problems: Array<ParamsProblem> = []
  let count = 0
  for (const name of names) {
    const written: Array<UploadedFile> = []
    for (const value of valuesOf(args[name], fileParams[name]?.multiple === true)) {
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
    delete args[name]
    if (written.length > 0) files[name] = written
  }
  if (problems.length === 0) return { ...call, args, files }
  const message = problems.map(({ loc, msg }) => `${String(loc[1])}: ${msg}`).join("; ")
  return yield* new PackError({ reason: "invalid_params", message, problems })
})
