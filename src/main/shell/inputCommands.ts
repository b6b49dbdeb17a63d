import { Effect, Option, Result } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { type Answer, Inputs } from "../../application/computer/Inputs.ts"
import { acceptInput, defaultOf } from "../../domain/config/inputs.ts"
import { usersOf } from "../../domain/config/setup.ts"
import type { Input } from "../../domain/protocol/v0_2/config.ts"
import { columns } from "../commands/show.ts"
import { refuse } from "../failure.ts"
import { meant } from "./nearest.ts"
import { Asking, type ShellCommand } from "./ShellCommand.ts"

const config = Computer.use(({ setup }) => Effect.map(setup, (now) => now.config))
const inputIds = Effect.map(config, ({ inputs }) => inputs.map(({ id }) => id))

/** What stands in for a value: only what is picked from options that everybody sees is shown. */
const spell = (input: Input, { source, value }: Answer): string =>
  `${input.type === "pickString" ? value : "set"} (${source})`

const standing = Effect.fnUntraced(function* (input: Input, server: string) {
  const { peek } = yield* Inputs
  return yield* peek(input, server).pipe(
    Effect.map(
      Option.match({
        onSome: (answer) => spell(input, answer),
        onNone: () => (defaultOf(input) === undefined ? "not set" : "not set, has a default")
      })
    ),
    Effect.catch(({ message }) => Effect.succeed(message))
  )
})

/** The standing of an input, for every server apart where servers differ. */
const standings = Effect.fnUntraced(function* (input: Input, servers: ReadonlyArray<string>) {
  const found = yield* Effect.forEach(servers.length === 0 ? [""] : servers, (server) =>
    Effect.map(standing(input, server), (text) => ({ server, text }))
  )
  const texts = new Set(found.map(({ text }) => text))
  return texts.size > 1 ? found.map(({ server, text }) => `${server}: ${text}`).join("; ") : [...texts].join()
})

const inputs: ShellCommand = {
  name: "inputs",
  takes: "",
  words: [0, 0],
  help: "the inputs of the configuration, where their values come from, and who uses them",
  run: Effect.fnUntraced(function* () {
    const rows = yield* Effect.forEach((yield* config).inputs, (input) =>
      Effect.gen(function* () {
        const users = usersOf(yield* config, input.id)
        return [
          input.id,
          input.type === "promptString" && input.password === true ? "password" : input.type,
          users.join(", "),
          yield* standings(input, users)
        ]
      })
    )
    return rows.length === 0 ? "no inputs are configured" : columns(rows)
  })
}

const knownInput = Effect.fnUntraced(function* (id: string) {
  const { inputs: all } = yield* config
  const input = all.find((one) => one.id === id)
  if (input !== undefined) return input
  const ids = all.map((one) => one.id)
  return yield* refuse(`No input '${id}' is configured${meant(id, ids)}`)
})

/** A value from the person at the terminal, who does not see it when it is a password. */
const asked = Effect.fnUntraced(function* (input: Input) {
  const ask = yield* Asking
  const hidden = input.type === "promptString" && input.password === true
  const answer = yield* ask(`${input.description || input.id}: `, { hidden })
  if (Option.isSome(answer)) return answer.value
  return yield* refuse(`No value for ${input.id}: expected input ${input.id} VALUE`)
})

/** A server keeps the values it was started with. */
const restarts = Effect.fnUntraced(function* (id: string, done: string) {
  const states = yield* Computer.use(({ servers }) => servers)
  const users = usersOf(yield* config, id).filter((name) => states.get(name)?._tag !== "Stopped")
  return users.length === 0 ? done : `${done}; to take effect, restart ${users.join(", ")}`
})

const give: ShellCommand = {
  name: "input",
  takes: "ID [VALUE]",
  words: [1, 2],
  help: "give an input a value; without VALUE it is asked for, and a password is not shown",
  isPrivate: true,
  run: Effect.fnUntraced(function* ([id = "", given]) {
    const input = yield* knownInput(id)
    const value = given ?? (yield* asked(input))
    const accepted = acceptInput(input, value)
    if (Result.isFailure(accepted)) {
      return yield* refuse(`The value for ${id} is ${accepted.failure}`)
    }
    yield* Inputs.use((values) => values.give(id, accepted.success))
    return yield* restarts(id, `${id} is set`)
  }),
  complete: Effect.fnUntraced(function* ([id, ...others]) {
    if (id === undefined) return yield* inputIds
    const input = (yield* config).inputs.find((one) => one.id === id)
    return input?.type === "pickString" && others.length === 0 ? input.options : []
  })
}

const forget: ShellCommand = {
  name: "input forget",
  takes: "ID",
  words: [1, 1],
  help: "forget the value of an input, so that it is looked for anew",
  run: Effect.fnUntraced(function* ([id = ""]) {
    yield* knownInput(id)
    yield* Inputs.use((values) => values.forget(id))
    return yield* restarts(id, `${id} is forgotten`)
  }),
  complete: (words) => (words.length === 0 ? inputIds : Effect.succeed([]))
}

/** What can be done with the inputs of the configuration. */
export const inputCommands: ReadonlyArray<ShellCommand> = [inputs, give, forget]
