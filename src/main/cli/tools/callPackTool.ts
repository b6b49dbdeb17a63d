import { Effect, Stream } from "effect"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackTable.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import { parseToolResult } from "../../../domain/model/ToolResult.ts"
import { CommandFailed, failCommand } from "../../CommandFailed.ts"
import { printError, printToolResult } from "../output/print.ts"
import { readWholeArguments } from "../arguments/argumentSource.ts"
import type { CallToolOptions } from "./flags.ts"
import { packHostFor, packProblems } from "./packHostFor.ts"
import { formatSome } from "../../../domain/errorMessage.ts"

/** Calls one tool in this process, without a server. */
export const callPackTool = Effect.fnUntraced(function* (options: CallToolOptions) {
  const { dir, timeout, tool } = options
  const params = yield* readWholeArguments(options.args)
  const call = Effect.gen(function* () {
    const { changes, packs, rescan, session } = yield* PackHost
    const hasTool = ({ status }: PackView) => status._tag === "Ready" && status.tools.some(({ name }) => name === tool)
    const offered = Stream.runDrain(Stream.takeUntil(changes, (current) => current.some(hasTool)))
    // Other packs may load slowly, or never.
    yield* Effect.raceFirst(rescan, offered)
    const problems = (yield* packs).flatMap(packProblems)
    const names = (yield* session.listTools()).items.map(({ name }) => stringOrEmpty(name))
    if (!names.includes(tool)) {
      const others = names.length === 0 ? "" : `; there are ${formatSome(names)}`
      return yield* failCommand([`There is no tool '${tool}' in ${dir}${others}`, ...problems].join("\n"))
    }
    return yield* Effect.mapError(
      session.callTool(tool, params, {
        onProgress: ({ message, progress, total }) =>
          printError(
            escapeForTerminal(`${progress}${total === undefined ? "" : `/${total}`} ${message ?? ""}`.trimEnd())
          )
      }),
      ({ message }) => new CommandFailed({ message: [message, ...problems].join("\n") })
    )
  })
  const raw = yield* Effect.provide(call, packHostFor([dir], options, { timeout }))
  const result = yield* Effect.mapError(
    Effect.fromResult(parseToolResult(raw)),
    (reason) => new CommandFailed({ message: `The result of the tool is malformed: ${reason}` })
  )
  yield* printToolResult(raw, result, options)
})
