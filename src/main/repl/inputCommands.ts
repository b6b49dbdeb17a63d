import { Effect, Option, Result } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { type ResolvedInput, Inputs } from "../../application/computer/inputs/Inputs.ts"
import { validateInputValue, defaultInputValue } from "../../domain/config/inputValues.ts"
import { serversUsingInput } from "../../domain/config/Setup.ts"
import type { Input } from "../../domain/config/computerConfig.ts"
import { formatColumns } from "../cli/output.ts"
import { failCommand } from "../cli/CommandFailed.ts"
import { didYouMean } from "./didYouMean.ts"
import { PromptUser, type ReplCommand } from "./ReplCommand.ts"

const currentConfig = Computer.use(({ setup }) => Effect.map(setup, (now) => now.config))
const inputIds = Effect.map(currentConfig, ({ inputs }) => inputs.map(({ id }) => id))

/** What stands in for a value: only what is picked from options that everybody sees is shown. */
const formatValue = (input: Input, { source, value }: ResolvedInput): string =>
  `${input.type === "pickString" ? value : "set"} (${source})`

const inputStatus = Effect.fnUntraced(function* (input: Input, server: string) {
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

/** The standing of an input, for every server apart where servers differ. */
const inputStatuses = Effect.fnUntraced(function* (input: Input, servers: ReadonlyArray<string>) {
  const found = yield* Effect.forEach(servers.length === 0 ? [""] : servers, (server) =>
    Effect.map(inputStatus(input, server), (text) => ({ server, text }))
  )
  const texts = new Set(found.map(({ text }) => text))
  return texts.size > 1 ? found.map(({ server, text }) => `${server}: ${text}`).join("; ") : [...texts].join()
})

const inputsCommand: ReplCommand = {
  name: "inputs",
  parameters: "",
  arity: [0, 0],
  help: "the inputs of the configuration, where their values come from, and who uses them",
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
    return rows.length === 0 ? "no inputs are configured" : formatColumns(rows)
  })
}

const requireInput = Effect.fnUntraced(function* (id: string) {
  const { inputs: all } = yield* currentConfig
  const input = all.find((one) => one.id === id)
  if (input !== undefined) return input
  const ids = all.map((one) => one.id)
  return yield* failCommand(`No input '${id}' is configured${didYouMean(id, ids)}`)
})

/** A value from the person at the terminal, who does not see it when it is a password. */
const promptForValue = Effect.fnUntraced(function* (input: Input) {
  const ask = yield* PromptUser
  const hidden = input.type === "promptString" && input.password === true
  const answer = yield* ask(`${input.description || input.id}: `, { hidden })
  if (Option.isSome(answer)) return answer.value
  return yield* failCommand(`No value for ${input.id}: expected input ${input.id} VALUE`)
})

/** A server keeps the values it was started with. */
const withRestartHint = Effect.fnUntraced(function* (id: string, message: string) {
  const states = yield* Computer.use(({ servers }) => servers)
  const users = serversUsingInput(yield* currentConfig, id).filter(
    (name) => states.get(name)?._tag !== "Stopped"
  )
  return users.length === 0 ? message : `${message}; to take effect, restart ${users.join(", ")}`
})

const setInputCommand: ReplCommand = {
  name: "input",
  parameters: "ID [VALUE]",
  arity: [1, 2],
  help: "give an input a value; without VALUE it is asked for, and a password is not shown",
  isPrivate: true,
  run: Effect.fnUntraced(function* ([id = "", given]) {
    const input = yield* requireInput(id)
    const value = given ?? (yield* promptForValue(input))
    const accepted = validateInputValue(input, value)
    if (Result.isFailure(accepted)) {
      return yield* failCommand(`The value for ${id} is ${accepted.failure}`)
    }
    yield* Inputs.use((values) => values.set(id, accepted.success))
    return yield* withRestartHint(id, `${id} is set`)
  }),
  complete: Effect.fnUntraced(function* ([id, ...others]) {
    if (id === undefined) return yield* inputIds
    const input = (yield* currentConfig).inputs.find((one) => one.id === id)
    return input?.type === "pickString" && others.length === 0 ? input.options : []
  })
}

const forgetInputCommand: ReplCommand = {
  name: "input forget",
  parameters: "ID",
  arity: [1, 1],
  help: "forget the value of an input, so that it is looked for anew",
  run: Effect.fnUntraced(function* ([id = ""]) {
    yield* requireInput(id)
    yield* Inputs.use((values) => values.clear(id))
    return yield* withRestartHint(id, `${id} is forgotten`)
  }),
  complete: (words) => (words.length === 0 ? inputIds : Effect.succeed([]))
}

/** What can be done with the inputs of the configuration. */
export const inputCommands: ReadonlyArray<ReplCommand> = [inputsCommand, setInputCommand, forgetInputCommand]
