import { fstatSync, type Stats, writeSync } from "node:fs"

const names: { readonly [name: string]: number } = { stdin: 0, stdout: 1, stderr: 2 }

/** The descriptor of this process that a path such as `/dev/stdout` or `/dev/fd/9` names. */
export const descriptorOf = (file: string): number | undefined => {
  const [, name, digits] = /^\/(?:dev\/(std(?:in|out|err))|(?:dev|proc\/self)\/fd\/(\d+))$/.exec(file) ?? []
  return name === undefined ? (digits === undefined ? undefined : Number(digits)) : names[name]
}

/** The highest descriptor that may be the other end of a pipe of this process. */
const maxOwnDescriptor = 255

const statOf = (descriptor: number): Stats | undefined => {
  try {
    return fstatSync(descriptor)
  } catch {
    return undefined
  }
}

const isWritable = (descriptor: number): boolean => {
  try {
    writeSync(descriptor, new Uint8Array(0))
    return true
  } catch {
    return false
  }
}

/** True for a pipe whose other end is in this process: Node wakes itself through such pipes. */
const isOwnPipe = (descriptor: number, { dev, ino }: Stats): boolean =>
  Array.from({ length: maxOwnDescriptor + 1 }, (_, other) => other).some((other) => {
    const stats = other === descriptor ? undefined : statOf(other)
    return stats?.isFIFO() === true && stats.ino === ino && stats.dev === dev && !isWritable(other)
  })

/** The reason why text cannot be written to a descriptor that the parent process should have opened. */
export const descriptorProblem = (descriptor: number): string | undefined => {
  const stats = statOf(descriptor)
  if (stats === undefined) return `descriptor ${descriptor} is not open`
  if (stats.isSocket()) return undefined
  const isStream = stats.isFile() || stats.isFIFO() || stats.isCharacterDevice()
  if (!isStream || (stats.isFIFO() && isOwnPipe(descriptor, stats))) {
    return `descriptor ${descriptor} is used by this program itself`
  }
  return isWritable(descriptor) ? undefined : `descriptor ${descriptor} is not open for writing`
}
