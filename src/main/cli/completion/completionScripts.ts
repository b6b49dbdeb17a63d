import { Effect, Option } from "effect"
import { CliConfig, Completions, GlobalFlag } from "effect/cli"
import { print } from "../output/print.ts"

/** What `a2c __complete` prints the names of. */
export type NameSource = "tools" | "computers" | "offices" | "hosts"

const sourceOfFlag: { readonly [flag: string]: NameSource } = { computer: "computers", office: "offices" }

const sourceOfArgument: { readonly [argument: string]: NameSource } = { tool: "tools", host: "hosts" }

const mark = (source: NameSource): string => `a2c-names-${source}`

/** Marks the values that are names of the office: a choice of one value, which stands in the script. */
const markNames = (command: Completions.CommandDescriptor): Completions.CommandDescriptor => {
  const choice = <A extends object>(param: A, source: NameSource | undefined) =>
    source === undefined ? param : { ...param, type: { _tag: "Choice", values: [mark(source)] } as const }
  return {
    ...command,
    flags: command.flags.map((flag) => choice(flag, sourceOfFlag[flag.name])),
    arguments: command.arguments.map((argument) => choice(argument, sourceOfArgument[argument.name])),
    subcommands: command.subcommands.map((one) => (one.name === "tools" ? one : markNames(one)))
  }
}

interface Script {
  /** A function of the shell that completes names. */
  readonly helper: string
  /** Replaces the place of a mark. */
  readonly replace: readonly [find: RegExp, by: string]
}

const marked = String.raw`a2c-names-(\w+)`

const scripts: { readonly [S in Completions.Shell]: Script } = {
  bash: {
    helper: `_a2c--names()
{
  local _names=() _name
  while IFS= read -r _name; do _names+=("$_name"); done \\
    < <("\${words[0]}" __complete "$1" -- "\${words[@]:1:cword}" 2>/dev/null </dev/null)
  _a2c--choices "$2" "$3" "\${_names[@]}"
}`,
    replace: [
      new RegExp(`_a2c--choices "\\$cur" "\\$_comp_word" '${marked}'`, "g"),
      '_a2c--names $1 "$cur" "$_comp_word"'
    ]
  },
  zsh: {
    helper: `_a2c_names() {
  local -a line names
  line=("\${(Q@)\${(z@)LBUFFER}}")
  names=("\${(@f)$(a2c __complete "$1" -- "\${line[@]}" 2>/dev/null </dev/null)}")
  compadd -- "\${(@)names:#}"
}`,
    replace: [new RegExp(`\\(${marked}\\)`, "g"), "{_a2c_names $1}"]
  },
  fish: {
    helper: "",
    replace: [
      new RegExp(`'${marked}'`, "g"),
      "'(a2c __complete $1 -- (commandline -opc) (commandline -ct) 2>/dev/null </dev/null)'"
    ]
  },
  powershell: { helper: "", replace: [new RegExp(`'${marked}'`, "g"), ""] }
}

/** Prints the script of Effect with functions that complete names of the office: they run the hidden command `__complete`. */
const printScript: typeof GlobalFlag.Completions = GlobalFlag.Action({
  flag: GlobalFlag.Completions.flag,
  run: (shell, { command }) => {
    if (Option.isNone(shell)) return Effect.void
    const { helper, replace } = scripts[shell.value]
    const script = Completions.generate(command.name, shell.value, markNames(Completions.fromCommand(command)))
    // The first line of zsh's script says what it completes.
    return print(script.replace("\n", `\n${helper}\n`).replace(...replace))
  }
})

/**
 * The flags of every command, with completions of names. Effect's wizard asks about each optional flag; without it the errors of a
 * command name all that it needs at once.
 */
export const cliConfigLayer = CliConfig.layer({
  builtIns: [GlobalFlag.Help, GlobalFlag.Version, printScript, GlobalFlag.LogLevel]
})
