/**
 * The tool name of a request that goes as a tool call, through a Server that does not know `client:mcp`. No MCP server
 * has a tool of this name in an office.
 */
export const mcpToolName = "a2c:mcp"
