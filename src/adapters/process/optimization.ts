// The program of the command imports this file before Node keeps compiled code, so it imports no package.

const setOptimization = (prefix: "" | "no-"): void => {
  if (process.versions["bun"] !== undefined) return
  const { setFlagsFromString } = process.getBuiltinModule("node:v8")
  for (const compiler of ["maglev", "opt"]) setFlagsFromString(`--${prefix}${compiler}`)
}

/**
 * Runs code without the optimizing compilers of V8 until {@link startOptimization}. Optimized code of the start is of no
 * use to a process that then waits, and the compilers take 8 MB of memory.
 */
export const postponeOptimization = (): void => setOptimization("no-")

export const startOptimization = (): void => setOptimization("")
