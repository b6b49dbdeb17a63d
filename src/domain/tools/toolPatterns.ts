import { matchesPattern } from "../wildcard.ts"

/**
 * Tells whether one of the patterns matches a tool. `*` stands for any run of characters and `?` for one. A pattern with
 * a slash matches `server/tool`, any other one the tool's name alone.
 */
export const matchesToolPattern = (patterns: ReadonlyArray<string>, server: string, tool: string): boolean =>
  patterns.some((pattern) =>
    matchesPattern(pattern, pattern.includes("/") ? `${server}/${tool}` : tool, { questionMark: true })
  )
