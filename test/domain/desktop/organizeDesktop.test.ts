import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { groupByServer } from "../../../src/domain/desktop/groupByServer.ts"
import {
  organizeDesktop,
  parseRenderedWindow,
  type WindowResource
} from "../../../src/domain/desktop/organizeDesktop.ts"

const window = (server: string, uri: string, more: Partial<WindowResource> = {}): WindowResource => ({
  server,
  uri: `window://${uri}`,
  contents: [{ text: "T" }],
  ...more
})
const text = (...texts: ReadonlyArray<string>) => texts.map((value) => ({ text: value }))
const blob = { blob: "AAAA" }

/** The URIs of the shown windows, without scheme and contents. */
const shown = (
  windows: ReadonlyArray<WindowResource>,
  { history = [], size }: { size?: number; history?: ReadonlyArray<string> } = {}
) =>
  organizeDesktop(windows, size, history).entries.map((entry) => (entry.split("\n")[0] ?? "").replace("window://", ""))

const Windows = Schema.Array(
  Schema.Struct({
    server: Schema.Literals(["a", "B", "ä", "c"]),
    uri: Schema.Literals(["h/1", "h/2?priority=9", "h/3?priority=70&fullscreen=1", "h/4?priority=no"]),
    contents: Schema.Literals([0, 1])
  })
)
const toWindow = ({ contents, server, uri }: (typeof Windows.Type)[number]) =>
  window(server, uri, { contents: contents === 0 ? [] : text("x") })

describe("organizeDesktop", () => {
  it.prop("truncates the end to the size", [Windows, Schema.Int], ([given, size]) => {
    const windows = given.map(toWindow)
    assert.deepStrictEqual(shown(windows, { size }), shown(windows).slice(0, Math.max(0, size)))
  })

  it.prop("leaves an organized desktop unchanged", [Windows], ([given]) => {
    const windows = given.map((one, index) => ({
      ...toWindow(one),
      ...(one.contents === 1 && { contents: text(`#${index}`) })
    }))
    const { entries } = organizeDesktop(windows, undefined, [])
    const chosen = entries.flatMap((entry) => windows[Number(entry.split("#")[1])] ?? [])
    assert.deepStrictEqual(organizeDesktop(chosen, undefined, []).entries, entries)
  })

  it.prop("shows all windows of a server, or one in full screen", [Windows], ([given]) => {
    const windows = given.map(toWindow)
    for (const server of ["a", "B", "ä", "c"]) {
      const own = windows.filter((one) => one.server === server)
      const alone = shown(own)
      assert.isTrue(alone.every((uri) => !uri.includes("fullscreen")) || alone.length === 1)
    }
  })

  it("case 230: renders the listed URI, a blank line and the text", () => {
    assert.deepStrictEqual(organizeDesktop([window("a", "h/x?priority=080")], undefined, []).entries, [
      "window://h/x?priority=080\n\nT"
    ])
  })

  it("case 231: separates several texts by blank lines", () => {
    assert.deepStrictEqual(organizeDesktop([window("a", "h", { contents: text("a", "b") })], undefined, []).entries, [
      "window://h\n\na\n\nb"
    ])
  })

  it("drops empty texts, and white space around all texts", () => {
    const contents = text("", " a ", "", "b \n")
    assert.deepStrictEqual(organizeDesktop([window("a", "h", { contents })], undefined, []).entries, [
      "window://h\n\na \n\nb"
    ])
  })

  it("case 232: renders the URI alone for an empty text", () => {
    assert.deepStrictEqual(organizeDesktop([window("a", "h", { contents: text("") })], undefined, []).entries, [
      "window://h"
    ])
  })

  it("case 233: skips binary contents beside text with a warning", () => {
    const { entries, warnings } = organizeDesktop([window("a", "h", { contents: [...text("a"), blob] })], undefined, [])
    assert.deepStrictEqual(entries, ["window://h\n\na"])
    assert.deepStrictEqual(warnings, [
      { server: "a", uri: "window://h", reason: "binary contents are omitted", outcome: "shown" }
    ])
  })

  it("cases 234 and 235: omits windows with binary contents only, or without contents", () => {
    assert.deepStrictEqual(shown([window("a", "h/1", { contents: [blob] }), window("a", "h/2", { contents: [] })]), [])
  })

  it("reports the reason for each omitted window, and none for a desktop of size zero", () => {
    const windows = [
      window("a", "h?priority=x"),
      window("a", "h/1", { contents: [] }),
      window("a", "h/2", { contents: [blob] })
    ]
    assert.deepStrictEqual(
      organizeDesktop(windows, undefined, []).warnings.map(({ reason }) => reason),
      ["priority must be an integer from 0 to 100", "no contents", "all contents are binary"]
    )
    assert.deepStrictEqual(organizeDesktop(windows, 0, []), { entries: [], warnings: [] })
  })

  it("reports the windows that a full-screen window hides", () => {
    const windows = [window("a", "n"), window("a", "f?fullscreen=1"), window("b", "n")]
    assert.deepStrictEqual(organizeDesktop(windows, undefined, []).warnings, [
      {
        server: "a",
        uri: "window://n",
        reason: "hidden by the full-screen window window://f?fullscreen=1",
        outcome: "hidden"
      }
    ])
  })

  it("case 236: shows valid windows beside one with an invalid URI", () => {
    assert.deepStrictEqual(shown([window("a", "h?priority=x"), window("a", "h/ok")]), ["h/ok"])
  })

  it("case 239: sorts by priority, highest first; a missing one counts as 0", () => {
    assert.deepStrictEqual(shown([window("a", "w0"), window("a", "w10?priority=10"), window("a", "w90?priority=90")]), [
      "w90?priority=90",
      "w10?priority=10",
      "w0"
    ])
  })

  it("case 240: keeps the listed order of ties", () => {
    const uris = ["x?priority=5", "y?priority=5", "z?priority=5"]
    assert.deepStrictEqual(shown(uris.map((uri) => window("a", uri))), uris)
  })

  const three = ["alpha", "beta", "gamma"].map((name) => window(name, name))

  it("cases 241, 242 and 244: puts the most recently used server first, each once, without unknown ones", () => {
    assert.deepStrictEqual(shown(three, { history: ["alpha", "gamma"] }), ["gamma", "alpha", "beta"])
    assert.deepStrictEqual(shown(three, { history: ["alpha", "gamma", "alpha"] }), ["alpha", "gamma", "beta"])
    assert.deepStrictEqual(shown(three, { history: ["ghost"] }), ["alpha", "beta", "gamma"])
  })

  it("case 243: sorts servers by code points without history", () => {
    const names = ["b", "A", "a", "Z", "😀", "\uffee"]
    assert.deepStrictEqual(shown(names.map((name) => window(name, "h"), names)), Array(6).fill("h"))
    const ordered = names.map((name) => window(name, `h/${name.codePointAt(0)}`))
    assert.deepStrictEqual(
      shown(ordered).map((uri) => String.fromCodePoint(Number(uri.slice(2)))),
      ["A", "Z", "a", "b", "\uffee", "😀"]
    )
  })

  it("case 246: shows the first listed full-screen window, independent of priorities", () => {
    assert.deepStrictEqual(
      shown([
        window("a", "f1?priority=10&fullscreen=true"),
        window("a", "f2?priority=90&fullscreen=true"),
        window("a", "n?priority=100")
      ]),
      ["f1?priority=10&fullscreen=true"]
    )
  })

  it("case 247: limits full screen to its server", () => {
    assert.deepStrictEqual(
      shown([
        window("alpha", "a?fullscreen=1"),
        window("alpha", "a2"),
        window("beta", "b?fullscreen=1"),
        window("gamma", "c1"),
        window("gamma", "c2")
      ]),
      ["a?fullscreen=1", "b?fullscreen=1", "c1", "c2"]
    )
  })

  it("cases 248 and 249: ignores an empty or disabled full-screen window", () => {
    assert.deepStrictEqual(shown([window("a", "f?fullscreen=1", { contents: [] }), window("a", "n")]), ["n"])
    assert.deepStrictEqual(shown([window("a", "f?fullscreen=0"), window("a", "n")]), ["f?fullscreen=0", "n"])
  })

  it("case 250: gives an empty desktop for a size of zero or less", () => {
    assert.deepStrictEqual(shown(three, { size: 0 }), [])
    assert.deepStrictEqual(shown(three, { size: -3 }), [])
  })

  it("cases 251 and 253: limits the whole list to the size", () => {
    const six = three.flatMap((one) => [one, { ...one, uri: `${one.uri}/2` }])
    assert.deepStrictEqual(shown(six, { size: 2 }), ["alpha", "alpha/2"])
    assert.deepStrictEqual(
      shown([window("a", "f?fullscreen=1"), window("a", "n"), window("b", "1"), window("b", "2")], {
        size: 2
      }),
      ["f?fullscreen=1", "1"]
    )
  })

  it("cases 260 and 261: reads the priority from annotations unless the URI has one", () => {
    const annotated = (priority: number) => ({ resource: { annotations: { priority } } })
    assert.deepStrictEqual(
      shown([
        window("a", "none?priority=50"),
        window("a", "noted", annotated(0.8)),
        window("a", "said?priority=10", annotated(0.9))
      ]),
      ["noted", "none?priority=50", "said?priority=10"]
    )
  })

  it("case 262: reads full screen from _meta unless the URI has it", () => {
    const full = { resource: { _meta: { fullscreen: true } } }
    assert.deepStrictEqual(shown([window("a", "n"), window("a", "f", full)]), ["f"])
    assert.deepStrictEqual(shown([window("a", "n"), window("a", "f?fullscreen=no", full)]), ["n", "f?fullscreen=no"])
  })

  it("case 263: treats an annotated priority outside 0…1 as 0 with a warning", () => {
    const { entries, warnings } = organizeDesktop(
      [window("a", "big", { resource: { annotations: { priority: 80 } } }), window("a", "small?priority=1")],
      undefined,
      []
    )
    assert.match(entries[0] ?? "", /small/)
    assert.match(warnings[0]?.reason ?? "", /outside 0…1/)
  })

  it("accepts both ends of the annotated range, and warns of other values unless the URI has a priority", () => {
    const annotated = (priority: unknown) => ({ resource: { annotations: { priority } } })
    const warningsOf = (uri: string, priority: unknown) =>
      organizeDesktop([window("a", uri, annotated(priority))], undefined, []).warnings.length
    assert.deepStrictEqual(
      [0, 1, -0.1, 1.1, "0.5", null].map((priority) => warningsOf("h", priority)),
      [0, 0, 1, 1, 1, 0]
    )
    assert.strictEqual(warningsOf("h?priority=1", 80), 0)
    assert.deepStrictEqual(shown([window("a", "99?priority=99"), window("a", "full", annotated(1))]), [
      "full",
      "99?priority=99"
    ])
  })
})

describe("groupByServer", () => {
  it("has no group for a server without items", () => {
    const [one, other] = [{ server: "b" }, { server: "a" }]
    assert.deepStrictEqual(groupByServer([one, other, one], ["ghost", "b", "b"]), [[one, one], [other]])
  })
})

describe("rendered window", () => {
  it.each([
    ["window://a\n\nHello\n\nthere", "window://a", "Hello\n\nthere"],
    ["window://a\r\n\r\nHello\r\n", "window://a", "Hello\r\n"],
    ["window://a\nHello\n\nthere", "window://a", "Hello\n\nthere"],
    ["window://a", "window://a", ""],
    ["\nHello", "", "Hello"]
  ])("splits into URI and text: %j", (entry, uri, text) =>
    assert.deepStrictEqual(parseRenderedWindow(entry), { uri, text })
  )
})
