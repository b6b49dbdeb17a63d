import { asObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"

/** Formats the arguments of a prompt: optional ones in brackets. */
export const formatPromptArguments = ({ arguments: given }: JsonObject): string =>
  (Array.isArray(given) ? given.map(asObject) : [])
    .map(({ name, required }) => (required === true ? stringOrEmpty(name) : `[${stringOrEmpty(name)}]`))
    .join(" ")

const formatMessage = (message: JsonObject): string => {
  const { data: _, text, type, ...content } = asObject(message["content"])
  const shown = type === "text" ? stringOrEmpty(text) : JSON.stringify({ type, ...content })
  return `${stringOrEmpty(message["role"])}: ${shown}`
}

/** Formats the result of `prompts/get`: a line for each message, without binary data. */
export const formatPromptMessages = ({ messages }: JsonObject): string =>
  (Array.isArray(messages) ? messages.map(asObject) : []).map(formatMessage).join("\n")
