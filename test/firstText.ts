import type { ToolResult } from "../src/domain/model/ToolResult.ts"

/** The text of a result's first block; empty for a block of another type. */
export const firstText = ({ content: [block] }: Pick<ToolResult, "content">): string =>
  block?.type === "text" ? block.text : ""
