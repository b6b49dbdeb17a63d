import { Effect, Option } from "effect"
import { promptForInput } from "../../../adapters/terminal/prompts.ts"
import { Computer } from "../../../application/computer/Computer.ts"
import { type ResolvedInput, Inputs } from "../../../application/computer/inputs/Inputs.ts"
import { defaultInputValue, type InputUser, validateInputValue } from "../../../domain/config/inputValues.ts"
import { serversUsingInput } from "../../../domain/config/Setup.ts"
import type { Input } from "../../../domain/config/computerConfig.ts"
import { formatColumns } from "../output/format.ts"
import { failCommand, requireSuccess } from "../../CommandFailed.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { completeFirst, type ReplCommand } from "./ReplCommand.ts"

const currentConfig = Computer.use(({ setup }) => Effect.map(setup, (now) => now.config))
const inputIds = Effect.map(currentConfig, ({ inputs }) => inputs.map(({ id }) => id))

/** Formats a value for display. Only a choice among public options is shown itself. */
const formatValue = (input: Input, { source, value }: ResolvedInput): string =>
  `${input.type === "pickString" ? value : "set"} (${source})`

const inputStatus = Effect.fnUntraced(function* (input: Input, server: InputUser | undefined) {
  const { peek } = yield* Inputs
  return yield* peek(input, server).pipe(
    Effect.map(
      Option.match({
        onSome: (answer) => formatValue(input, answer),
        onNone: () => (defaultInputValue(input) === undefined ? "not set" : "not set, has a default")
      })
    ),
    Effect.catch(({ message }) => Effect.succeed(message))
  )
})

/** The status of an input, by server where servers differ. */
const inputStatuses = Effect.fnUntraced(function* (input: Input, servers: ReadonlyArray<string>) {
  const config = yield* currentConfig
  const found = yield* Effect.forEach(servers.length === 0 ? [""] : servers, (server) =>
    Effect.map(inputStatus(input, config.servers[server]), (text) => ({ server, text }))
  )
  const texts = new Set(found.map(({ text }) => text))
  return texts.size > 1 ? found.map(({ server, text }) => `${server}: ${text}`).join("; ") : [...texts].join()
})

const requireInput = Effect.fnUntraced(function* (id: string) {
  const { inputs: all } = yield* currentConfig
  const input = all.find((one) => one.id === id)
  if (input !== undefined) return input
  const ids = all.map((one) => one.id)
  return yield* failCommand(`No input '${id}' is configured${didYouMean(id, ids)}`)
})

/** Adds a hint to a message: a running server keeps its values until it restarts. */
const withRestartHint = Effect.fnUntraced(function* (id: string, message: string) {
  const states = yield* Computer.use(({ servers }) => servers)
  const users = serversUsingInput(yield* currentConfig, id).filter((name) => states.get(name)?._tag !== "Stopped")
  return users.length === 0 ? message : `${message}; to take effect, restart ${users.join(", ")}`
})

export const inputCommands: ReadonlyArray<ReplCommand> = [
  {
    name: "inputs",
    help: "list the inputs with the sources of their values and the servers that use them",
    run: Effect.fnUntraced(function* () {
      const rows = yield* Effect.forEach((yield* currentConfig).inputs, (input) =>
        Effect.gen(function* () {
          const users = serversUsingInput(yield* currentConfig, input.id)
          return [
            input.id,
            input.type === "promptString" && input.password === true ? "password" : input.type,
            users.join(", "),
            yield* inputStatuses(input, users)
          ]
        })
      )
      return formatColumns(rows, "no inputs are configured")
    })
  },
  {
    name: "input",
    parameters: "ID [VALUE]",
    help: "set the value of an input; without VALUE prompts for it, without echo for a password",
    isPrivate: true,
    run: Effect.fnUntraced(function* ([id = "", given], prompter) {
      const input = yield* requireInput(id)
      const value = given ?? Option.getOrUndefined(yield* promptForInput(input, prompter))
      if (value === undefined) return yield* failCommand(`No value for ${id}: expected input ${id} VALUE`)
      const accepted = yield* requireSuccess(
        validateInputValue(input, value),
        (reason) => `The value for ${id} is ${reason}`
      )
      yield* Inputs.use((values) => values.set(id, accepted))
      return yield* withRestartHint(id, `${id} is set`)
    }),
    complete: Effect.fnUntraced(function* ([id, ...others]) {
      if (id === undefined) return yield* inputIds
      const input = (yield* currentConfig).inputs.find((one) => one.id === id)
      return input?.type === "pickString" && others.length === 0 ? input.options.map(({ value }) => value) : []
    })
  },
  {
    name: "input forget",
    parameters: "ID",
    help: "clear the value of an input, which is then looked up again",
    run: Effect.fnUntraced(function* ([id = ""]) {
      yield* requireInput(id)
      yield* Inputs.use((values) => values.clear(id))
      return yield* withRestartHint(id, `${id} is cleared`)
    }),
    complete: completeFirst(inputIds)
  }
]
