/** The index after the string that has an escape at `at`; the text's end when it does not close. */
const findStringEnd = (text: string, at: number): number => {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (before >= at && text[before] === "\\") before -= 1
    if ((end - before) % 2 === 1) return end + 1
  }
  return text.length
}

const nextToken = /[^ \t\n\r]/g

const isFollowedByColon = (text: string, at: number): boolean => {
  nextToken.lastIndex = at
  return nextToken.exec(text)?.[0] === ":"
}

/** Where the names of members are that contain an escape: the indices of their quotes, the last one exclusive. */
const findEscapedNames = (text: string): ReadonlyArray<readonly [start: number, end: number]> => {
  const found: Array<readonly [number, number]> = []
  for (let escape = text.indexOf("\\"); escape !== -1; ) {
    const end = findStringEnd(text, escape)
    if (isFollowedByColon(text, end)) found.push([text.lastIndexOf('"', escape), end])
    escape = text.indexOf("\\", end)
  }
  return found
}

/** Text that is not in `text`. Lone surrogates cannot be in text that was decoded from bytes. */
const findUnusedMark = (text: string): string => {
  let mark = "\udfff"
  while (text.includes(mark)) mark += "\udfff"
  return mark
}

/** Replaces names that begin with the mark, in place. Does not recurse: deep input must not exhaust the stack. */
const restoreNames = (value: unknown, mark: string, names: ReadonlyArray<string>): void => {
  const open = [value]
  while (open.length > 0) {
    const node = open.pop()
    if (typeof node !== "object" || node === null) continue
    const members = Object.entries(node)
    for (const [, member] of members) open.push(member)
    if (Array.isArray(node) || !members.some(([name]) => name.startsWith(mark))) continue
    // All members are written again, which keeps their order.
    for (const [name] of members) Reflect.deleteProperty(node, name)
    for (const [name, member] of members) {
      Object.defineProperty(node, name.startsWith(mark) ? (names[Number(name.slice(mark.length))] ?? name) : name, {
        value: member,
        configurable: true,
        enumerable: true,
        writable: true
      })
    }
  }
}

/**
 * Replaces the names of members that contain an escape, such as `"\u00e9"`, in JSON text. `restore` puts them back into
 * the parsed value, in place. `undefined` without such names, which is usual. Throws a `SyntaxError` for an invalid
 * escape.
 *
 * V8 confuses such names ({@link https://github.com/nodejs/node/issues/63785}): once any text had a second member named
 * `\`, `JSON.parse` also reads a second member `"\u00e9"` as `\`. So one peer could change what another one sent.
 */
export const replaceEscapedNames = (text: string) => {
  const found = findEscapedNames(text)
  if (found.length === 0) return undefined
  const mark = findUnusedMark(text)
  const names: Array<string> = []
  let replaced = ""
  let copied = 0
  for (const [start, end] of found) {
    replaced += `${text.slice(copied, start)}"${mark}${names.length}"`
    names.push(String(JSON.parse(text.slice(start, end))))
    copied = end
  }
  return {
    text: replaced + text.slice(copied),
    restore: (value: unknown): void => restoreNames(value, mark, names)
  }
}
