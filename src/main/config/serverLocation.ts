import type { ServerConfig } from "../../domain/config/computerConfig.ts"

/** Where a server is, without what may be secret in it: no arguments, no query, no password. */
export const formatServerLocation = ({ parameters, type }: ServerConfig): string =>
  type === "stdio"
    ? String(parameters["command"])
    : String(parameters["url"])
        .replace(/[?#].*$/s, "")
        .replace(/\/\/[^/]*@/, "//")
