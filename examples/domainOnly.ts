/** Uses the domain alone; it runs in any JavaScript runtime. */
import { Result } from "effect"
import { isCompatible, organizeDesktop, parseVersion, parseWindowUri } from "a2c-smcp/domain"

const version = (text: string) => Result.getOrThrow(parseVersion(text))
console.log(isCompatible(version("0.2.1"), version("0.2.0")))

console.log(Result.map(parseWindowUri("window://com.example.editor/src%2Fmain?priority=80"), ({ path }) => path))

const { entries } = organizeDesktop(
  [
    { server: "log", uri: "window://com.example.log", contents: [{ text: "all is well" }] },
    { server: "web", uri: "window://com.example.web?fullscreen=1", contents: [{ text: "<html>" }] }
  ],
  undefined,
  ["web"]
)
console.log(entries.join("\n---\n"))
