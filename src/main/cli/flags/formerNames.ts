/** Earlier names of flags, by the current ones. They and their variables work as before, and are not in the help. */
const formerNames: ReadonlyMap<string, string> = new Map([
  ["drain-timeout", "grace"],
  ["idle-timeout", "idle-time"],
  ["join-timeout", "join-time"],
  ["max-name-length", "name-budget"],
  ["max-notification-backlog", "max-notice-backlog"]
])

const currentNames = new Map([...formerNames].map(([current, former]) => [former, current]))

export const formerNameOf = (name: string): string | undefined => formerNames.get(name)

/** The name of a flag that is given by this name. */
export const currentNameOf = (name: string): string => currentNames.get(name) ?? name

/** Gives the flags of a command line their current names. Words after `--` are no flags. */
export const renameFormerFlags = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = args.indexOf("--")
  return args.map((word, index) => {
    const [, name = "", value = ""] = /^--([a-z-]+)(=.*)?$/s.exec(word) ?? []
    return currentNames.has(name) && (end < 0 || index < end) ? `--${currentNameOf(name)}${value}` : word
  })
}
