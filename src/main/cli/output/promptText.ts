import { type JsonObject, objectsIn, stringOrEmpty } from "../../../domain/json.ts"
import { messagesIn, type PromptMessage } from "../../../domain/page/prompts.ts"

/** Formats the arguments of a prompt: optional ones in brackets. */
export const formatPromptArguments = ({ arguments: given }: JsonObject): string =>
  objectsIn(given)
    .map(({ name, required }) => (required === true ? stringOrEmpty(name) : `[${stringOrEmpty(name)}]`))
    .join(" ")

const formatMessage = ({ content, role }: PromptMessage): string => {
  const { data: _, text, type, ...others } = content
  const shown = type === "text" ? stringOrEmpty(text) : JSON.stringify({ type, ...others })
  return `${role}: ${shown}`
}

/** Formats the result of `prompts/get`: a line for each message, without binary data. */
export const formatPromptMessages = (result: JsonObject): string => messagesIn(result).map(formatMessage).join("\n")
