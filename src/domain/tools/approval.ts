const escape = (text: string): string => text.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")

/**
 * Does one of the patterns cover a tool? `*` stands for any run of characters and `?` for one; a pattern with a slash
 * is about `server/tool`, any other about the tool's name alone.
 */
export const approves = (patterns: ReadonlyArray<string>, server: string, tool: string): boolean =>
  patterns.some((pattern) => {
    const source = escape(pattern).replaceAll("*", ".*").replaceAll("?", ".")
    return new RegExp(`^${source}$`, "su").test(pattern.includes("/") ? `${server}/${tool}` : tool)
  })
