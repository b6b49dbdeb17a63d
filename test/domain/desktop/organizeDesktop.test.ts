import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  groupByServer,
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
const empty = { contents: [] }
const binary = { contents: [blob] }
const fullscreen = { resource: { _meta: { fullscreen: true } } }
const annotated = (priority: unknown) => ({ resource: { annotations: { priority } } })

const organized = (...windows: ReadonlyArray<WindowResource>) => organizeDesktop(windows, undefined, [])

/** The URIs of the shown windows, without scheme and contents. */
const shown = (windows: ReadonlyArray<WindowResource>, size?: number, history: ReadonlyArray<string> = []) =>
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
    assert.deepStrictEqual(shown(windows, size), shown(windows).slice(0, Math.max(0, size)))
  })

  it.prop("leaves an organized desktop unchanged", [Windows], ([given]) => {
    const windows = given.map((one, index) => ({
      ...toWindow(one),
      ...(one.contents === 1 && { contents: text(`#${index}`) })
    }))
    const { entries } = organized(...windows)
    const chosen = entries.flatMap((entry) => windows[Number(entry.split("#")[1])] ?? [])
    assert.deepStrictEqual(organized(...chosen).entries, entries)
  })

  it.prop("shows all windows of a server, or one in full screen", [Windows], ([given]) => {
    const windows = given.map(toWindow)
    for (const server of ["a", "B", "ä", "c"]) {
      const own = windows.filter((one) => one.server === server)
      const alone = shown(own)
      assert.isTrue(alone.every((uri) => !uri.includes("fullscreen")) || alone.length === 1)
    }
  })

  it.each([
    ["case 230: renders the listed URI, a blank line and the text", "h/x?priority=080", ["T"], "h/x?priority=080\n\nT"],
    ["case 231: separates several texts by blank lines", "h", ["a", "b"], "h\n\na\n\nb"],
    ["drops empty texts, and white space around all texts", "h", ["", " a ", "", "b \n"], "h\n\na \n\nb"],
    ["case 232: renders the URI alone for an empty text", "h", [""], "h"]
  ] as const)("%s", (_, uri, texts, entry) => {
    assert.deepStrictEqual(organized(window("a", uri, { contents: text(...texts) })).entries, [`window://${entry}`])
  })

  it("case 233: skips binary contents beside text with a warning", () => {
    const warning = { server: "a", uri: "window://h", reason: "binary contents are omitted", outcome: "shown" } as const
    assert.deepStrictEqual(organized(window("a", "h", { contents: [...text("a"), blob] })), {
      entries: ["window://h\n\na"],
      warnings: [warning]
    })
  })

  it("reports the reason for each omitted window, and none for a desktop of size zero", () => {
    const windows = [window("a", "h?priority=x"), window("a", "h/1", empty), window("a", "h/2", binary)]
    const reasons = organized(...windows).warnings.map(({ reason }) => reason)
    assert.deepStrictEqual(reasons, [
      "priority must be an integer from 0 to 100",
      "no contents",
      "all contents are binary"
    ])
    assert.deepStrictEqual(organizeDesktop(windows, 0, []), { entries: [], warnings: [] })
  })

  it("reports the windows that a full-screen window hides", () => {
    const { warnings } = organized(window("a", "n"), window("a", "f?fullscreen=1"), window("b", "n"))
    const reason = "hidden by the full-screen window window://f?fullscreen=1"
    assert.deepStrictEqual(warnings, [{ server: "a", uri: "window://n", reason, outcome: "hidden" }])
  })

  it.each([
    ["cases 234 and 235: omits windows without text", [window("a", "h/1", binary), window("a", "h/2", empty)], []],
    [
      "case 236: shows valid windows beside an invalid URI",
      [window("a", "h?priority=x"), window("a", "h/ok")],
      ["h/ok"]
    ],
    [
      "case 239: sorts by priority, highest first; a missing one counts as 0",
      [window("a", "w0"), window("a", "w10?priority=10"), window("a", "w90?priority=90")],
      ["w90?priority=90", "w10?priority=10", "w0"]
    ],
    [
      "case 240: keeps the listed order of ties",
      [window("a", "x?priority=5"), window("a", "y?priority=5"), window("a", "z?priority=5")],
      ["x?priority=5", "y?priority=5", "z?priority=5"]
    ],
    [
      "case 246: shows the first listed full-screen window, independent of priorities",
      [
        window("a", "f1?priority=10&fullscreen=true"),
        window("a", "f2?priority=90&fullscreen=true"),
        window("a", "n?priority=100")
      ],
      ["f1?priority=10&fullscreen=true"]
    ],
    [
      "case 247: limits full screen to its server",
      [
        window("alpha", "a?fullscreen=1"),
        window("alpha", "a2"),
        window("beta", "b?fullscreen=1"),
        window("gamma", "c1"),
        window("gamma", "c2")
      ],
      ["a?fullscreen=1", "b?fullscreen=1", "c1", "c2"]
    ],
    ["case 248: ignores an empty full-screen window", [window("a", "f?fullscreen=1", empty), window("a", "n")], ["n"]],
    ["case 249: ignores a disabled one", [window("a", "f?fullscreen=0"), window("a", "n")], ["f?fullscreen=0", "n"]],
    [
      "cases 260 and 261: reads the priority from annotations unless the URI has one",
      [
        window("a", "none?priority=50"),
        window("a", "noted", annotated(0.8)),
        window("a", "said?priority=10", annotated(0.9))
      ],
      ["noted", "none?priority=50", "said?priority=10"]
    ],
    [
      "accepts the highest annotated priority",
      [window("a", "99?priority=99"), window("a", "full", annotated(1))],
      ["full", "99?priority=99"]
    ],
    ["case 262: reads full screen from _meta", [window("a", "n"), window("a", "f", fullscreen)], ["f"]],
    [
      "case 262: prefers full screen of the URI to _meta",
      [window("a", "n"), window("a", "f?fullscreen=no", fullscreen)],
      ["n", "f?fullscreen=no"]
    ]
  ])("%s", (_, windows, uris) => {
    assert.deepStrictEqual(shown(windows), uris)
  })

  const three = ["alpha", "beta", "gamma"].map((name) => window(name, name))

  it("cases 241, 242 and 244: puts the most recently used server first, each once, without unknown ones", () => {
    assert.deepStrictEqual(shown(three, undefined, ["alpha", "gamma"]), ["gamma", "alpha", "beta"])
    assert.deepStrictEqual(shown(three, undefined, ["alpha", "gamma", "alpha"]), ["alpha", "gamma", "beta"])
    assert.deepStrictEqual(shown(three, undefined, ["ghost"]), ["alpha", "beta", "gamma"])
  })

  it("case 243: sorts servers by code points without history", () => {
    const names = ["b", "A", "a", "Z", "😀", "\uffee"]
    const uris = shown(names.map((name) => window(name, `h/${name.codePointAt(0)}`)))
    const ordered = uris.map((uri) => String.fromCodePoint(Number(uri.slice(2))))
    assert.deepStrictEqual(ordered, ["A", "Z", "a", "b", "\uffee", "😀"])
  })

  it("case 250: gives an empty desktop for a size of zero or less", () => {
    for (const size of [0, -3]) assert.deepStrictEqual(shown(three, size), [])
  })

  it("cases 251 and 253: limits the whole list to the size", () => {
    const six = three.flatMap((one) => [one, { ...one, uri: `${one.uri}/2` }])
    assert.deepStrictEqual(shown(six, 2), ["alpha", "alpha/2"])
    const windows = [window("a", "f?fullscreen=1"), window("a", "n"), window("b", "1"), window("b", "2")]
    assert.deepStrictEqual(shown(windows, 2), ["f?fullscreen=1", "1"])
  })

  it("case 263: treats an annotated priority outside 0…1 as 0 with a warning", () => {
    const windows = [window("a", "big", annotated(80)), window("a", "small?priority=1")]
    assert.deepStrictEqual(shown(windows), ["small?priority=1", "big"])
    assert.match(organized(...windows).warnings[0]?.reason ?? "", /outside 0…1/)
  })

  it.each([
    ["h", 0, 0],
    ["h", 1, 0],
    ["h", -0.1, 1],
    ["h", 1.1, 1],
    ["h", "0.5", 1],
    ["h", null, 0],
    ["h?priority=1", 80, 0]
  ])("warns of an annotated priority that is out of range and counts: %s, %j", (uri, priority, warnings) => {
    assert.lengthOf(organized(window("a", uri, annotated(priority))).warnings, warnings)
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
