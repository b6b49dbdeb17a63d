// The program of the command imports this file before Node keeps compiled code, so it imports no package.

/**
 * Lets V8 optimize code fully, or not: the larger compiler takes 5 MB of memory, and its code of the start is of no use to a
 * process that then waits. The smaller one stays: without it, the first thousands of members would cost half as much again.
 */
export const setOptimization = (isOn: boolean): void => {
  // The types of Node lack it. Other runtimes, and a few platforms, do not have it.
  if (!Reflect.get(process.config.variables, "v8_enable_maglev")) return
  const { setFlagsFromString } = process.getBuiltinModule("node:v8")
  setFlagsFromString(`--${isOn ? "" : "no-"}turbofan`)
  // Code of the smaller compiler must still ask for the larger one.
  setFlagsFromString("--force-emit-interrupt-budget-checks")
}
