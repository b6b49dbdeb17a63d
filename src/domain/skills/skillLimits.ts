/** Limits of what a Computer reads and stores for skills. Sizes in bytes. */
export const skillLimits = {
  /** Files of one skill of an MCP server. */
  maxFiles: 2000,
  /** All files of one skill of an MCP server together, unpacked. */
  maxStagedBytes: 64 * 1024 * 1024,
  /** Folders on the path of a file. */
  maxDepth: 16,
  /** A `marketplace.json` or `plugin.json`. */
  maxManifestBytes: 4 * 1024 * 1024,
  /** Skills of one folder, plugins of one marketplace, or skills of one MCP server. */
  maxEntries: 1000,
  /** A file that Agents can read. */
  maxFileBytes: 100 * 1024 * 1024,
  /** A text that is sent in the reply, not as a blob. */
  maxInlineBytes: 32 * 1024
} as const
