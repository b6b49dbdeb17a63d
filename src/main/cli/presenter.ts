import { Console, Effect } from "effect"
import { CliError, CliOutput } from "effect/cli"

/** How Effect words a variable that cannot be read: as if its flag had been given with the value "config". */
const invalidVariable = {
  value: "config",
  expected: /^SchemaError\((.*)\n {2}at \["(\w+)"\](?:\[\d+\])?\)$/su
}

/** Names the variable where that is what was wrong, and not the flag that it stands for. */
const explainInvalidVariable = (error: CliError.NonShowHelpErrors): CliError.NonShowHelpErrors => {
  if (error._tag !== "InvalidValue" || error.value !== invalidVariable.value) return error
  const [, issue, variable] = invalidVariable.expected.exec(error.expected) ?? []
  return issue === undefined || variable === undefined
    ? error
    : new CliError.UserError({ cause: error, userMessage: `Invalid value of ${variable}. ${issue}` })
}

/** Help that nobody asked for goes to stderr: scripts read results from stdout. */
export const layer = CliOutput.layerPresenter({
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Effect.provideService(
          CliOutput.defaultPresenter.present({ ...event, errors: event.errors.map(explainInvalidVariable) }),
          Console.Console,
          { ...globalThis.console, log: (...words) => globalThis.console.error(...words) }
        )
      : CliOutput.defaultPresenter.present(event)
})
