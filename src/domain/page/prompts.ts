import { asObject, type JsonObject, objectsIn, stringOrEmpty } from "../json.ts"
import { definedOnly } from "../objects.ts"

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
export const promptsIn = (list: JsonObject) =>
  objectsIn(list["servers"]).flatMap(({ completions, id, prompts }) =>
    objectsIn(prompts).flatMap(({ arguments: listed, description, name, title }) => {
      if (typeof name !== "string") return []
      return {
        server: stringOrEmpty(id),
        name,
        title: stringOrEmpty(title),
        description: stringOrEmpty(description),
        /** The schema of its arguments, which are texts. */
        argumentsSchema: schemaOf(listed),
        /** The MCP server completes arguments. */
        hasCompletions: completions === true
      }
    })
  )

export type ServerPrompt = ReturnType<typeof promptsIn>[number]

/** The messages in the result of `prompts/get`; the content of each is a block as those of results. */
export const messagesIn = ({ messages }: JsonObject) =>
  objectsIn(messages).map(({ content, role }) => ({ role: stringOrEmpty(role), content: asObject(content) }))

export type PromptMessage = ReturnType<typeof messagesIn>[number]

/** The values in the result of `completion/complete`. */
export const completionsIn = ({ completion }: JsonObject): ReadonlyArray<string> => {
  const { values } = asObject(completion)
  return (Array.isArray(values) ? values : []).filter((value) => typeof value === "string").slice(0, maxCompletions)
}
