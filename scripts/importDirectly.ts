/**
 * Imports the modules of effect directly, such as `effect/Schema`. Its index has all of them: Node would load each, and
 * bundlers would keep all that a module of it exports.
 */
export const importDirectly = (text: string): string =>
  text.replaceAll(
    /^import \{([^}]*)\} from "(effect(?:\/[\w-]+)?)"(;?)$/gm,
    (_, names: string, from: string, end: string) =>
      names
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && !name.startsWith("type "))
        .map((given) => {
          const [name = "", local = name] = given.split(" as ")
          return `import * as ${local} from "${from}/${name}"${end}`
        })
        .join(end === "" ? "; " : " ")
  )
