/** Runs a function and returns the CPU time of this thread in milliseconds. Other work of the machine does not count. */
export const cpuTime = (run: () => void): number => {
  const before = process.threadCpuUsage()
  run()
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1000
}
