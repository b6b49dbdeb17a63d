import { readFileSync } from "node:fs"

/** CPU time of the first thread of a process, in microseconds; Linux only. */
export const cpuTimeOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000
