import type { JsonObject } from "../../domain/json.ts"

export const textResult = (value: string): JsonObject => ({ content: [{ type: "text", text: value }] })
export const errorResult = (value: string): JsonObject => ({ ...textResult(value), isError: true })
