import { Console, type Duration, Effect } from "effect"
import { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackView.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { parseToolResult } from "../../../domain/model/ToolResult.ts"
import { CommandFailed, toCommandFailed, failCommand } from "../CommandFailed.ts"
import { packProblems, foldersOrDefault, packHostFor, type PackRuntimeOptions } from "./packHostFor.ts"
import { truncateLine, formatColumns, formatJson, formatToolResult } from "../output.ts"

/** What `a2c tools list` is told. */
export interface ListToolsOptions extends PackRuntimeOptions {
  readonly folders: ReadonlyArray<string>
  readonly json: boolean
}

/** What `a2c tools call` is told. */
export interface CallToolOptions extends PackRuntimeOptions {
  readonly tool: string
  readonly dir: string
  readonly args: string
  readonly timeout: Duration.Duration
  readonly json: boolean
}

const stringOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "")

const packRows = ({ description, name, status }: PackView): ReadonlyArray<ReadonlyArray<string>> => {
  if (status._tag !== "Ready") {
    const reason = status._tag === "Failed" ? truncateLine(status.reason) : ""
    return [[name, "-", status._tag.toLowerCase(), reason || truncateLine(description)]]
  }
  return status.tools.map((tool) => {
    const route = status.routes.find((one) => one.tool === tool["name"])
    return [
      name,
      stringOrEmpty(tool["name"]),
      route === undefined ? "-" : `POST ${route.endpoint}`,
      truncateLine(stringOrEmpty(tool["description"]))
    ]
  })
}

/** Lists packs and their tools. Fails when a pack cannot be used, after all have been listed. */
export const listTools = Effect.fnUntraced(function* (options: ListToolsOptions) {
  const folders = yield* foldersOrDefault(options.folders)
  const packs = yield* Effect.scoped(
    Effect.provide(
      Effect.flatMap(PackHost, ({ packs: all }) => all),
      packHostFor(folders, options)
    )
  )
  if (options.json) yield* Console.log(formatJson(packs))
  else if (packs.length === 0) yield* Console.error(`no packs in ${folders.join(", ")}`)
  else yield* Console.log(formatColumns([["PACK", "TOOL", "ENDPOINT", ""], ...packs.flatMap(packRows)]))
  for (const line of packs.flatMap(packProblems)) yield* Console.error(`a2c: ${line}`)
  const broken = packs.filter(({ status }) => status._tag === "Failed").length
  if (broken > 0) return yield* failCommand(`${broken} of ${packs.length} packs cannot be used`)
})

const parseToolArguments = (text: string): Effect.Effect<JsonObject, CommandFailed> =>
  Effect.try({ try: (): unknown => JSON.parse(text), catch: () => undefined }).pipe(
    Effect.filterOrFail(isJsonObject, () => undefined),
    Effect.mapError(
      () => new CommandFailed({ message: `--args must be a JSON object, not ${truncateLine(text)}` })
    )
  )

/** Calls one tool, without any server. */
export const callTool = Effect.fnUntraced(
  function* (options: CallToolOptions) {
    const { dir, json, timeout, tool } = options
    const args = yield* parseToolArguments(options.args)
    const call = Effect.gen(function* () {
      const { packs, session } = yield* PackHost
      const problems = (yield* packs).flatMap(packProblems)
      const names = (yield* session.listTools()).items.map(({ name }) => stringOrEmpty(name))
      if (!names.includes(tool)) {
        const others = names.length === 0 ? "" : `; there are ${names.join(", ")}`
        return yield* failCommand(
          [`There is no tool '${tool}' in ${dir}${others}`, ...problems].join("\na2c: ")
        )
      }
      return yield* Effect.mapError(
        session.callTool(tool, args, {
          onProgress: ({ message, progress, total }) =>
            Console.error(`${progress}${total === undefined ? "" : `/${total}`} ${message ?? ""}`.trimEnd())
        }),
        ({ message }) => new CommandFailed({ message: [message, ...problems].join("\na2c: ") })
      )
    })
    const raw = yield* Effect.provide(call, packHostFor([dir], options, { timeout }))
    const result = yield* Effect.mapError(
      Effect.fromResult(parseToolResult(raw)),
      (reason) => new CommandFailed({ message: `The tool's result is malformed: ${reason}` })
    )
    const text = json ? formatJson(raw) : formatToolResult(result)
    if (!result.isError) return yield* Console.log(text)
    yield* json ? Console.log(text) : Effect.void
    return yield* new CommandFailed({ message: json ? "The tool failed" : text, exitCode: 2 })
  },
  Effect.scoped,
  Effect.mapError((error) => (error._tag === "CommandFailed" ? error : toCommandFailed(error)))
)
