import { Console, Effect } from "effect"
import { CliError, CliOutput } from "effect/cli"

/** Effect reports an invalid variable as a flag with the value "config". */
const invalidVariable = { value: "config", expected: /^SchemaError\((.*)\n {2}at \["(\w+)"\](?:\[\d+\])?\)$/su }

/** Names the invalid variable instead of its flag. */
const explainInvalidVariable = (error: CliError.NonShowHelpErrors): CliError.NonShowHelpErrors => {
  if (error._tag !== "InvalidValue" || error.value !== invalidVariable.value) return error
  const [, issue, variable] = invalidVariable.expected.exec(error.expected) ?? []
  return issue === undefined || variable === undefined
    ? error
    : new CliError.UserError({ cause: error, userMessage: `Invalid value of ${variable}. ${issue}` })
}

/** Prints the help of an invalid command line to stderr: scripts read results from stdout. */
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
