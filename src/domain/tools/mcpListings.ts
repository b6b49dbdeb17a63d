import { isJsonObject, type JsonObject } from "../json.ts"

const isString = (value: unknown): boolean => typeof value === "string"

const isOptional = (value: unknown, check: (value: unknown) => boolean): boolean => value === undefined || check(value)

const isArrayOf =
  (check: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every((item) => check(item))

const isIcon = (icon: unknown): boolean =>
  isJsonObject(icon) &&
  isString(icon["src"]) &&
  isOptional(icon["mimeType"], isString) &&
  isOptional(icon["sizes"], isArrayOf(isString)) &&
  isOptional(icon["theme"], (theme) => theme === "light" || theme === "dark")

const isPromptArgument = (argument: unknown): boolean =>
  isJsonObject(argument) &&
  isString(argument["name"]) &&
  isOptional(argument["description"], isString) &&
  isOptional(argument["required"], (required) => typeof required === "boolean")

const checks: { readonly [member: string]: (value: unknown) => boolean } = {
  title: isString,
  description: isString,
  mimeType: isString,
  icons: isArrayOf(isIcon),
  arguments: isArrayOf(isPromptArgument),
  annotations: isJsonObject,
  execution: isJsonObject,
  _meta: isJsonObject
}

/**
 * Drops the members of a listed tool, prompt or template that MCP does not allow. Clients reject a whole list for one of
 * them, and with it the items of other MCP servers.
 */
export const withValidMembers = (listed: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(listed).filter(([member, value]) => !Object.hasOwn(checks, member) || checks[member]?.(value))
  )
