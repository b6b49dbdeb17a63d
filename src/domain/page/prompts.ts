import { asObject, type JsonObject, objectsIn, stringOrEmpty } from "../json.ts"
import { definedOnly } from "../objects.ts"

/** A prompt of an MCP server. */
export interface ServerPrompt {
  /** The identity of the MCP server in the office. */
  readonly server: string
  readonly name: string
  readonly title: string
  readonly description: string
  /** The schema of its arguments, which are texts. */
  readonly argumentsSchema: JsonObject
  /** The MCP server completes arguments. */
  readonly hasCompletions: boolean
}

/** A message of a prompt; its content is a block as those of results. */
export interface PromptMessage {
  readonly role: string
  readonly content: JsonObject
}

/** Suggested values of an argument. A server may name 100; others are left out. */
const maxCompletions = 100

const schemaOf = (listed: unknown): JsonObject => {
  const named = objectsIn(listed).filter(({ name }) => typeof name === "string")
  const member = ({ description, name, title }: JsonObject) =>
    [stringOrEmpty(name), { type: "string", ...definedOnly({ description, title }) }] as const
  return {
    type: "object",
    properties: Object.fromEntries(named.map(member)),
    required: named.filter(({ required }) => required === true).map(({ name }) => name)
  }
}

/** The prompts in the list of MCP servers that a Computer gives. Entries without a name are left out. */
export const promptsIn = (list: JsonObject): ReadonlyArray<ServerPrompt> =>
  objectsIn(list["servers"]).flatMap(({ completions, id, prompts }) =>
    objectsIn(prompts).flatMap(({ arguments: listed, description, name, title }) => {
      if (typeof name !== "string") return []
      return {
        server: stringOrEmpty(id),
        name,
        title: stringOrEmpty(title),
        description: stringOrEmpty(description),
        argumentsSchema: schemaOf(listed),
        hasCompletions: completions === true
      }
    })
  )

/** The messages in the result of `prompts/get`. */
export const messagesIn = ({ messages }: JsonObject): ReadonlyArray<PromptMessage> =>
  objectsIn(messages).map(({ content, role }) => ({ role: stringOrEmpty(role), content: asObject(content) }))

/** The values in the result of `completion/complete`. */
export const completionsIn = ({ completion }: JsonObject): ReadonlyArray<string> => {
  const { values } = asObject(completion)
  return (Array.isArray(values) ? values : []).filter((value) => typeof value === "string").slice(0, maxCompletions)
}
