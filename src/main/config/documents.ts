import { Effect, type Result } from "effect"
import { FileBecamePipe, readFileContents } from "../../adapters/process/fileContents.ts"
import { errorMessage, systemErrorCode } from "../../domain/errorMessage.ts"
import { formatPath, type ValidationIssue } from "../../domain/validation.ts"
import type { JsoncDocument, Position } from "./jsonc.ts"

/** An error or warning about a file. An error in one file makes all files unusable. */
export interface ConfigDiagnostic extends ValidationIssue, Partial<Position> {
  readonly severity: "error" | "warning"
  readonly file: string
}

/** Formats a diagnostic like compilers: `mcp.json:12:5: error: servers.a.command: Missing key`. */
export const formatDiagnostic = ({ column, file, issue, line, path, severity }: ConfigDiagnostic): string => {
  const where = line === undefined ? file : `${file}:${line}:${column ?? 1}`
  const what = path.length === 0 ? issue : `${formatPath(path)}: ${issue}`
  return `${where}: ${severity}: ${what}`
}

type Parser = Effect.Effect<(source: string) => JsoncDocument>

/** The parsers are loaded when a file is read: a Server without files needs none. */
export const jsonc: Parser = Effect.promise(async () => (await import("./jsonc.ts")).parseJsonc)
export const yaml: Parser = Effect.promise(async () => (await import("./yaml.ts")).parseYaml)

/** In bytes. */
const maxTextBytes = 64 * 1024 * 1024

const fileErrorReasons: { readonly [code: string]: string } = {
  EACCES: "cannot be read: permission denied",
  EISDIR: "is a directory",
  ELOOP: "cannot be read: it is a symbolic link to itself",
  ENAMETOOLONG: "cannot be read: the name is too long",
  ENOENT: "file not found",
  ENOTDIR: "file not found: a part of the path is a file"
}

const formatFileError = (error: unknown): string => {
  if (error instanceof FileBecamePipe) return "became a pipe: its content is read only at the start"
  return fileErrorReasons[systemErrorCode(error) ?? ""] ?? `cannot be read: ${errorMessage(error)}`
}

/** Reads a text file; fails with a reason for people. A pipe is read once. */
export const readTextFile = (file: string): Effect.Effect<string, string> =>
  Effect.tryPromise({ try: () => readFileContents(file, maxTextBytes + 1), catch: formatFileError }).pipe(
    Effect.filterOrFail(
      (text) => text.length <= maxTextBytes,
      () => "is larger than 64 MiB"
    )
  )

/** Reads and parses a file; fails with the errors that make it unusable. */
export const readDocument = Effect.fnUntraced(function* (file: string, parser: Parser) {
  const failWith = (errors: ReadonlyArray<Omit<ConfigDiagnostic, "file" | "severity">>) =>
    Effect.fail(errors.map((error): ConfigDiagnostic => ({ ...error, file, severity: "error" })))
  const text = yield* Effect.catch(readTextFile(file), (issue) => failWith([{ path: [], issue }]))
  const document = (yield* parser)(text)
  return document.errors.length > 0 ? yield* failWith(document.errors) : document
})

/** The maximum number of reported errors: thousands of entries may have the same one. */
const maxReportedErrors = 10

/** Reads a file and decodes its value. Fails with formatted diagnostics. */
export const readDecodedFile = Effect.fnUntraced(function* <A>(
  file: string,
  parser: Parser,
  decode: (value: unknown) => Result.Result<A, ReadonlyArray<ValidationIssue>>
): Effect.fn.Return<A, ReadonlyArray<string>> {
  const report = (errors: ReadonlyArray<ConfigDiagnostic>) => errors.slice(0, maxReportedErrors).map(formatDiagnostic)
  const { locate, value } = yield* Effect.mapError(readDocument(file, parser), report)
  return yield* Effect.mapError(Effect.fromResult(decode(value)), (errors) =>
    report(errors.map((error) => ({ ...error, ...locate(error.path), file, severity: "error" })))
  )
})
