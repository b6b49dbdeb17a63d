import { readFileSync } from "node:fs"
import { documents } from "./docsPrograms.ts"

/** An option that a document names, by the names from the options of a function to it. */
export interface DocumentedOption {
  readonly document: string
  readonly entry: string
  readonly path: ReadonlyArray<string>
}

/** The functions whose options documents name. */
const entries: { readonly [entry: string]: string } = {
  runServer: "a2c-smcp/promise",
  runComputer: "a2c-smcp/promise",
  connectAgent: "a2c-smcp/promise",
  serverLayer: "a2c-smcp",
  computerLayer: "a2c-smcp",
  agentLayer: "a2c-smcp"
}

/** The functions of the tables of options, by the first option of a table. */
const tables: { readonly [option: string]: string } = {
  authenticate: "runServer",
  httpServer: "runServer",
  url: "runComputer"
}

/** The paths of the members that a text such as `{ authenticate, redis: { url } }` names. */
const pathsIn = (object: string): ReadonlyArray<ReadonlyArray<string>> => {
  const paths: Array<ReadonlyArray<string>> = []
  const parents: Array<string> = []
  let last = ""
  let isValue = false
  for (const [token] of object.slice(1).matchAll(/[{}:,]|[\w$]+|[^\s]/g)) {
    if (token === "{") parents.push(last)
    else if (token === "}") parents.pop()
    else if (/^\w/.test(token) && !isValue) {
      last = token
      paths.push([...parents, token])
    }
    isValue = token === ":" || (isValue && token !== "{" && token !== "}" && token !== ",")
  }
  return paths
}

const callPattern = new RegExp("`(" + Object.keys(entries).join("|") + ")\\((\\{[^`]*\\})\\)`", "g")

const optionsInCalls = (document: string, text: string): ReadonlyArray<DocumentedOption> =>
  [...text.matchAll(callPattern)].flatMap(([, entry = "", object = ""]) =>
    pathsIn(object).map((path) => ({ document, entry, path }))
  )

const namesIn = (row: string): ReadonlyArray<string> =>
  [...(/^\| ([^|]*) \|/.exec(row)?.[1] ?? "").matchAll(/`([^`]*)`/g)].map(([, name = ""]) => name)

const optionsInTables = (document: string, text: string): ReadonlyArray<DocumentedOption> =>
  [...text.matchAll(/^\| option \|.*\n\|[-| ]+\n((?:\|.*\n)+)/gm)].flatMap(([, rows = ""]) => {
    const names = rows.split("\n").flatMap(namesIn)
    const [first = ""] = names
    // Flags of the command are checked by its parser.
    if (first.startsWith("-")) return []
    return names.map((name) => ({ document, entry: tables[first] ?? `unknown table of ${first}`, path: [name] }))
  })

/** The options that documents name in tables and in calls within sentences. */
export const documentedOptions = (): ReadonlyArray<DocumentedOption> =>
  documents.flatMap((document) => {
    const text = readFileSync(document, "utf8")
    return [...optionsInTables(document, text), ...optionsInCalls(document, text)]
  })

/** A program that compiles only if the types have these options. */
export const optionsProgram = (options: ReadonlyArray<DocumentedOption>): string => {
  const modules = [...new Set(Object.values(entries))].map((name, index) => `import type * as m${index} from "${name}"`)
  const names = [...new Set(Object.values(entries))]
  const typeOf = (entry: string) => `Options<typeof m${names.indexOf(entries[entry] ?? "")}.${entry}>`
  return [
    ...modules,
    "type Options<F extends (...args: never) => unknown> = NonNullable<Parameters<F>[0]>",
    "type Names<T> = T extends unknown ? keyof T : never",
    "type Member<T, K> = T extends unknown ? (K extends keyof T ? NonNullable<T[K]> : never) : never",
    ...options.map(({ document, entry, path }, index) => {
      const parent = path.slice(0, -1).reduce((type, name) => `Member<${type}, "${name}">`, typeOf(entry))
      return `export const option${index}: Names<${parent}> = "${path.at(-1)}" // ${document}: ${entry}`
    })
  ].join("\n")
}
