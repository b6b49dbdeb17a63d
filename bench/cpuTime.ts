import { readFileSync } from "node:fs"

/** CPU time that the first thread of a process has used so far, in microseconds; Linux only. */
export const cpuTimeOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000
