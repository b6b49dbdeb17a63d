import { installWithApt } from "./installWithApt.ts"
import type { Program } from "./Program.ts"

/** The server of clusters. */
export const redisServer: Program = {
  name: "Redis",
  variable: "REDIS_SERVER",
  commands: ["redis-server", "valkey-server"],
  advice: "install redis-server, or set REDIS_SERVER to its path",
  installation: "Redis is missing: apt-get downloads redis-server into node_modules/.cache",
  install: (folder) => installWithApt("redis-server", "usr/bin/redis-server", folder)
}
