// The program of the command imports this file before Node keeps compiled code, so it imports no package.

/**
 * Lets V8 optimize code, or not. Optimized code of the start is of no use to a process that then waits, and the
 * optimizing compilers take 8 MB of memory.
 */
export const setOptimization = (isOn: boolean): void => {
  // The types of Node lack it. Other runtimes, and a few platforms, do not have it.
  if (!Reflect.get(process.config.variables, "v8_enable_maglev")) return
  const { setFlagsFromString } = process.getBuiltinModule("node:v8")
  for (const compiler of ["maglev", "turbofan"]) setFlagsFromString(`--${isOn ? "" : "no-"}${compiler}`)
}
