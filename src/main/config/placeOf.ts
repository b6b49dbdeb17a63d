import type { ServerConfig } from "../../domain/protocol/v0_2/config.ts"

/** Where a server is, without what may be secret in it: no arguments, no query, no password. */
export const formatServerLocation = ({ parameters, type }: ServerConfig): string =>
  type === "stdio"
    ? String(parameters["command"])
    : String(parameters["url"])
        .replace(/[?#].*$/s, "")
        .replace(/\/\/[^/]*@/, "//")
