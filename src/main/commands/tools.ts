import { Console, type Duration, Effect } from "effect"
import { PackHost, type PackView } from "../../application/packs/PackHost.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { readToolResult } from "../../domain/protocol/v0_2/tools.ts"
import { CommandFailed, failed, refuse } from "../failure.ts"
import { complaints, foldersOf, hostOf, type PacksCommand } from "./packs.ts"
import { brief, columns, json as toJson, showResult } from "./show.ts"

/** What `a2c tools list` is told. */
export interface ListCommand extends PacksCommand {
  readonly folders: ReadonlyArray<string>
  readonly json: boolean
}

/** What `a2c tools call` is told. */
export interface CallCommand extends PacksCommand {
  readonly tool: string
  readonly dir: string
  readonly args: string
  readonly timeout: Duration.Duration
  readonly json: boolean
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const rowsOf = ({ description, name, status }: PackView): ReadonlyArray<ReadonlyArray<string>> => {
  if (status._tag !== "Ready") {
    const reason = status._tag === "Failed" ? brief(status.reason) : ""
    return [[name, "-", status._tag.toLowerCase(), reason || brief(description)]]
  }
  return status.tools.map((tool) => {
    const route = status.routes.find((one) => one.tool === tool["name"])
    return [
      name,
      textOf(tool["name"]),
      route === undefined ? "-" : `POST ${route.endpoint}`,
      brief(textOf(tool["description"]))
    ]
  })
}

/** Lists packs and their tools. Fails when a pack cannot be used, after all have been listed. */
export const listTools = Effect.fnUntraced(function* (command: ListCommand) {
  const folders = yield* foldersOf(command.folders)
  const packs = yield* Effect.scoped(
    Effect.provide(
      Effect.flatMap(PackHost, ({ packs: all }) => all),
      hostOf(folders, command)
    )
  )
  if (command.json) yield* Console.log(toJson(packs))
  else if (packs.length === 0) yield* Console.error(`no packs in ${folders.join(", ")}`)
  else yield* Console.log(columns([["PACK", "TOOL", "ENDPOINT", ""], ...packs.flatMap(rowsOf)]))
  for (const line of packs.flatMap(complaints)) yield* Console.error(`a2c: ${line}`)
  const broken = packs.filter(({ status }) => status._tag === "Failed").length
  if (broken > 0) return yield* refuse(`${broken} of ${packs.length} packs cannot be used`)
})

const parseArgs = (text: string): Effect.Effect<JsonObject, CommandFailed> =>
  Effect.try({ try: (): unknown => JSON.parse(text), catch: () => undefined }).pipe(
    Effect.filterOrFail(isJsonObject, () => undefined),
    Effect.mapError(() => new CommandFailed({ message: `--args must be a JSON object, not ${brief(text)}` }))
  )

/** Calls one tool, without any server. */
export const callTool = Effect.fnUntraced(
  function* (command: CallCommand) {
    const { dir, json, timeout, tool } = command
    const args = yield* parseArgs(command.args)
    const call = Effect.gen(function* () {
      const { packs, session } = yield* PackHost
      const said = (yield* packs).flatMap(complaints)
      const names = (yield* session.listTools()).items.map(({ name }) => textOf(name))
      if (!names.includes(tool)) {
        const others = names.length === 0 ? "" : `; there are ${names.join(", ")}`
        return yield* refuse([`There is no tool '${tool}' in ${dir}${others}`, ...said].join("\na2c: "))
      }
      return yield* Effect.mapError(
        session.callTool(tool, args, {
          onProgress: ({ message, progress, total }) =>
            Console.error(`${progress}${total === undefined ? "" : `/${total}`} ${message ?? ""}`.trimEnd())
        }),
        ({ message }) => new CommandFailed({ message: [message, ...said].join("\na2c: ") })
      )
    })
    const raw = yield* Effect.provide(call, hostOf([dir], command, { timeout }))
    const result = yield* Effect.mapError(
      Effect.fromResult(readToolResult(raw)),
      (why) => new CommandFailed({ message: `The tool's result is malformed: ${why}` })
    )
    const text = json ? toJson(raw) : showResult(result)
    if (!result.isError) return yield* Console.log(text)
    yield* json ? Console.log(text) : Effect.void
    return yield* new CommandFailed({ message: json ? "The tool failed" : text, exitCode: 2 })
  },
  Effect.scoped,
  Effect.mapError((error) => (error._tag === "CommandFailed" ? error : failed(error)))
)
