import { Duration, Effect, Scope } from "effect"
import * as JsonSchemaValidator from "../../../adapters/jsonSchema/JsonSchemaValidator.ts"
import { Agent } from "../../../application/agent/Agent.ts"
import {
  formatUnknownTools,
  type OfficeView,
  ownerIn,
  type ToolSearch,
  unknownToolsIn
} from "../../../application/agent/OfficeView.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { errorCodeOf } from "../../../domain/tools/errorResults.ts"
import type { InputRequest } from "../../../domain/model/InputRequest.ts"
import { describeParameters, exampleArguments } from "../../../domain/schemas/describeSchema.ts"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { flagWords, quoteForShell } from "../../../domain/text/quoteForShell.ts"
import { appUriOf } from "../../../domain/tools/appTools.ts"
import { parseAnnotations } from "../../../domain/tools/toolAnnotations.ts"
import { makeParamsCheck } from "../../../application/shared/paramsCheck.ts"
import { readArguments, toCallParams } from "../arguments/argumentSource.ts"
import { CommandFailed, failCommand, failUnknownTool } from "../../CommandFailed.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { defaultAgent, defaultServerUrl } from "../flags/sharedFlags.ts"
import { makeCallProgress } from "../output/callProgress.ts"
import { wrapLines, wrapWords } from "../output/columns.ts"
import { tableColumns } from "../output/screen.ts"
import { formatColumns, formatFields } from "../output/format.ts"
import { printLine, printProgress, printResult, printToolResult } from "../output/print.ts"
import { serverPageUrl } from "../server/serverPage.ts"
import { HasOwnConnection, shareWithCommands } from "../office/officeShare.ts"
import type { AgentSharedOptions, OptionsOf } from "./flags.ts"
import { runAsAgent, withoutComputer } from "./queries.ts"
import { makeAnswerPrompt } from "../../../adapters/terminal/answerPrompt.ts"
import * as Dialogue from "../../../adapters/terminal/Dialogue.ts"
import { formatTaskId, parseTaskId } from "../../../domain/office/taskIds.ts"
import { defaultLineName } from "../../../domain/wire/lines.ts"

/** True for a tool with an app, as far as the view knows the tools. */
const hasApp = ({ computers }: OfficeView, name: string, computer: string): boolean =>
  computers.get(computer)?.tools?.some((tool) => tool.name === name && appUriOf(tool.meta) !== undefined) === true

/** Finds a tool of one Computer, or the only one of this name. */
const findTool = Effect.fnUntraced(function* ({ office, ...search }: ToolSearch & { readonly office: string }) {
  const { computer, tool: name } = search
  const agent = yield* Agent
  const view = yield* agent.searchTool(search)
  const tools = [...view.computers].flatMap(([owner, { tools: own = [] }]) =>
    own.map((tool) => ({ computer: owner, tool }))
  )
  const found = tools.find(({ tool }) => tool.name === name)
  if (found !== undefined) return yield* Effect.as(ownerIn(view, name), found)
  const known = [...(yield* agent.view).computers.keys()]
  if (known.length === 0) return yield* failCommand(withoutComputer(office))
  if (computer !== undefined && !known.includes(computer)) {
    return yield* failCommand(`No Computer '${computer}' is in this office${didYouMean(computer, known)}`)
  }
  const unknown = unknownToolsIn(view)
  const check = unknown.failing.length === 0 ? "" : "; 'a2c computer check FILE' at its Computer may tell more"
  return yield* failUnknownTool(
    name,
    computer === undefined ? "in this office" : `at Computer '${computer}'`,
    tools.map(({ tool }) => tool.name),
    formatUnknownTools(unknown) && formatUnknownTools(unknown) + check
  )
})

/** A search for what is known by now. */
const noWait = { timeout: Duration.seconds(10), awaitsServers: false }

/** Columns below which a table would cut most of its cells. */
const minTableColumns = 60

/** Formats the parameters of a tool, or the members of its result, as a table, or as a list on a narrow terminal. */
const formatMembers = (title: string, rows: ReturnType<typeof describeParameters>): string => {
  if (tableColumns() >= minTableColumns) {
    return formatColumns([[title, "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"], ...rows])
  }
  const details = rows.map(([name, type, required, initial, about]) => [
    name,
    [type, required && "required", initial && `default ${initial}`, about].filter(Boolean).join(", ")
  ])
  return formatFields([[title, ""], ...details])
}

/** The words of another command that acts as the same Agent, quoted for a shell. */
const commandWords = (
  { name, office, protocol, server, tlsCa, tokenFile }: AgentSharedOptions,
  words: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const flags = [
    ["--server", server, defaultServerUrl],
    ["--token-file", tokenFile],
    ["--tls-ca", tlsCa],
    ["--office", office],
    ["--name", name, defaultAgent],
    ["--protocol", protocol, defaultLineName]
  ] as const
  const connection = flags.flatMap(([flag, value, initial]) =>
    value === undefined || value === initial ? [] : flagWords(flag, value)
  )
  return ["a2c", "agent", ...connection, ...words].map((word) => escapeForTerminal(quoteForShell(word)))
}

const formatTool = ({ computer, tool }: Effect.Success<ReturnType<typeof findTool>>, options: OptionsOf<"tool">) => {
  const { description, meta, name, paramsSchema, returnSchema } = tool
  const title = stringOrEmpty(parseAnnotations(meta)?.["title"])
  const parameters = describeParameters(paramsSchema)
  const results = returnSchema === null ? [] : describeParameters(returnSchema)
  const words = commandWords(options, ["call", name, ...exampleArguments(paramsSchema)])
  return [
    formatFields([["name", name], ["computer", computer], ...(title === "" ? [] : [["title", title]])]),
    ...(description === "" ? [] : [wrapLines(description.trim(), tableColumns())]),
    parameters.length === 0 ? "no parameters" : formatMembers("PARAMETER", parameters),
    ...(results.length === 0 ? [] : [formatMembers("RESULT", results)]),
    `example:\n  ${wrapWords(words, { columns: tableColumns() - 2, hanging: 4, end: " \\" }).join("\n")}`
  ].join("\n\n")
}

/** Prints one tool: name, Computer, description, parameters and an example call. */
export const showTool = Effect.fnUntraced(function* (options: OptionsOf<"tool">) {
  const { computer, office, timeout, tool } = options
  const found = yield* findTool({ ...noWait, office, tool, computer, timeout: Duration.seconds(timeout) })
  yield* printResult(options, { computer: found.computer, ...found.tool }, formatTool(found, options))
}, runAsAgent)

/**
 * Makes the function that asks questions of MCP servers at the terminal; `undefined` without a terminal. After Ctrl-C it prints
 * the notice.
 */
export const makeOnInput = Effect.fnUntraced(function* (interruptNotice: string) {
  const dialogue = yield* Dialogue.onProcessTerminal(interruptNotice)
  return dialogue && makeAnswerPrompt(dialogue, yield* Effect.provide(makeParamsCheck, JsonSchemaValidator.layer))
})

const makeAgentProgress = (options: AgentSharedOptions) =>
  makeCallProgress((action, id) => commandWords(options, ["approvals", action, id]).join(" "))

/** How long the connection stays open at most for other commands that use it. */
const maxOthersWait = Duration.seconds(5)

/**
 * Prints the statuses of a call, and shares the connection of the command from the first approval for which the call waits:
 * an approval takes time, and the same user may decide about it by another command.
 */
const shareWhileWaiting = Effect.fnUntraced(function* (options: AgentSharedOptions) {
  const agent = yield* Agent
  const scope = yield* Effect.scope
  const { onStatus: printStatus } = yield* makeAgentProgress(options)
  let canShare = yield* HasOwnConnection
  let othersDone: Effect.Effect<void> = Effect.void
  const share = shareWithCommands(options).pipe(
    Effect.provideService(Agent, agent),
    Scope.provide(scope),
    Effect.map((unused) => void (othersDone = unused)),
    Effect.forkIn(scope)
  )
  return {
    onStatus: (status: CallStatus): Effect.Effect<void> =>
      Effect.andThen(
        printStatus(status),
        Effect.suspend(() => {
          if (!canShare || status._tag !== "WaitingForConsent" || status.approval === undefined) return Effect.void
          canShare = false
          return Effect.asVoid(share)
        })
      ),
    /** The command that decided waits for its reply. */
    othersDone: Effect.asVoid(
      Effect.timeoutOption(
        Effect.suspend(() => othersDone),
        maxOthersWait
      )
    )
  }
})

/**
 * The Computer of a call and its arguments. Those by key need the schema of the tool: they are converted by it, and checked like
 * its Computer does. A call with other arguments to a named Computer is sent without a further request.
 */
const prepareCall = Effect.fnUntraced(function* (
  arguments_: Effect.Success<ReturnType<typeof readArguments>>,
  { computer: wanted, office, timeout: seconds, tool: name }: OptionsOf<"start">,
  onStatus: (status: CallStatus) => Effect.Effect<void>
) {
  if (arguments_._tag === "Whole" && wanted !== undefined) return { computer: wanted, params: arguments_.params }
  const search = { office, tool: name, computer: wanted, timeout: Duration.seconds(seconds), awaitsServers: true }
  const { computer, tool } = yield* findTool({ ...search, onStatus })
  if (arguments_._tag === "Whole") return { computer, params: arguments_.params }
  const params = yield* toCallParams(arguments_, { schema: tool.paramsSchema, subject: `The tool '${name}'` })
  const check = yield* Effect.provide(makeParamsCheck, JsonSchemaValidator.layer)
  const errors = yield* check(tool.paramsSchema, params)
  if (errors.length === 0) return { computer, params }
  const list = errors.map((error) => `\n- ${error}`).join("")
  return yield* failCommand(`Tool '${name}' was not called: its arguments do not fit its schema.${list}`)
})

export const callTool = Effect.fnUntraced(function* (options: OptionsOf<"call">) {
  const { args, deadline, timeout, tool, words } = options
  const given = yield* readArguments(words, args)
  const call = Effect.gen(function* () {
    const agent = yield* Agent
    const { onStatus, othersDone } = yield* shareWhileWaiting(options)
    const target = yield* prepareCall(given, options, onStatus)
    const onInput = yield* makeOnInput("not answered: the call is cancelled")
    const answers = onInput && { onInput: (request: InputRequest) => onInput(request, { tool }) }
    const result = yield* agent.callTool({ ...target, ...answers, tool, timeout, onStatus })
    // Says what the Computer has in the place of the tool.
    if (errorCodeOf(result) === errorCodes.toolNotFound)
      yield* findTool({ ...target, office: options.office, tool, ...noWait })
    const printed = yield* Effect.exit(printToolResult(result, result, options))
    if (hasApp(yield* agent.view, tool, target.computer)) {
      const { origin } = yield* serverPageUrl(options.server, "/office/")
      yield* printProgress(
        `the tool has an app, which the office page shows where the Server has one: ${origin}/office/`
      )
    }
    yield* othersDone
    return yield* printed
  })
  const run = runAsAgent(call, options)
  yield* deadline === undefined
    ? run
    : Effect.timeoutOrElse(run, {
        duration: Duration.seconds(deadline),
        orElse: () =>
          new CommandFailed({
            message: `The call was cancelled: its deadline of ${deadline} s has passed`,
            code: "deadline"
          })
      })
})

export const startTool = Effect.fnUntraced(function* (options: OptionsOf<"start">) {
  const { args, timeout, tool, words } = options
  const given = yield* readArguments(words, args)
  const start = Effect.gen(function* () {
    const { onStatus } = yield* makeAgentProgress(options)
    const target = yield* prepareCall(given, options, onStatus)
    const { startTool: startTask } = yield* Agent
    const task = yield* startTask({ ...target, tool, timeout, onStatus })
    if (task.endsWithAgent) {
      yield* task.cancel
      return yield* failCommand(`Computer '${task.computer}' runs no calls beyond this command: use 'call'`)
    }
    const id = formatTaskId(task)
    yield* options.json ? printResult(options, { id, computer: task.computer }, "") : printLine(id)
  })
  yield* runAsAgent(start, options)
})

/** Waits for the result of a started call, or prints its state, or cancels it. */
export const showTask = Effect.fnUntraced(function* (options: OptionsOf<"task">) {
  const place = parseTaskId(options.id)
  if (place === undefined)
    return yield* failCommand(`'${options.id}' must be the ID of a started call, such as 3f2a@desk`)
  const show = Effect.gen(function* () {
    const agent = yield* Agent
    const { onStatus, othersDone } = yield* shareWhileWaiting(options)
    const task = agent.task(place.computer, place.id, { onStatus })
    if (options.cancel) yield* task.cancel
    if (!options.status && !options.cancel) {
      const result = yield* task.result
      const printed = yield* Effect.exit(printToolResult(result, result, options))
      yield* othersDone
      return yield* printed
    }
    const status = yield* task.status
    const seconds = Math.round((status.updatedAt - status.createdAt) / 1000)
    const { latest } = status
    const progress =
      latest?._tag === "Progressing" ? `, progress ${latest.progress} ${latest.message ?? ""}`.trimEnd() : ""
    const time = Duration.format(Duration.seconds(seconds))
    yield* printResult(options, status, `${status.state} after ${time}${progress}`)
  })
  yield* runAsAgent(show, options)
})
