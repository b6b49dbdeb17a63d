import { execFileSync } from "node:child_process"

/** Open files that this process and its children may have. Node raises the soft limit to the hard limit at its start. */
export const maxOpenFiles = (): number => {
  const limit = execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim()
  return limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit)
}
