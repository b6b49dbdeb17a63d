import { readFileSync } from "node:fs"

/** Resident memory of a process in MB; Linux only. */
export const residentMegabytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
