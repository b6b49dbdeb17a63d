import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { assertRejected, bodiesOf } from "../../conformance/joinedMembers.ts"
import { announced, conformInPlaces, type ScriptedAgent } from "./functionOffice.ts"

const windowUri = (path: string) => `window://functions/${path}`
const documentUri = (path: string) => `dpe://functions/${path}`
const urisOn = (agent: ScriptedAgent, fields?: object) =>
  Effect.map(agent.desktop(fields), (windows) => windows.map((window) => window.split("\n")[0]))
const updatesAt = (agent: ScriptedAgent) =>
  ["desktop", "finder"].map((part) => bodiesOf(agent, `notify:update_${part}`).length)

conformInPlaces((conform) => {
  describe("client:get_desktop", () => {
    conform("cases 230, 232, 237: renders windows, and omits one that cannot be read", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({
          windows: [
            { name: "one", priority: 90 },
            { name: "two", priority: 80, text: "", isSignal: true },
            { name: "three", priority: 70, text: "" },
            { name: "unreadable", priority: 60, text: null }
          ]
        })
        assert.deepStrictEqual(yield* agent.desktop(), [
          `${windowUri("one?priority=90")}\n\nT`,
          windowUri("two?priority=80"),
          windowUri("three?priority=70")
        ])
      })
    )

    conform("cases 224, 225, 229: encodes names and parameters in its URIs, and rejects others", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({
          windows: [
            { name: "c/d", priority: 0, fullscreen: false },
            { name: "名 前", priority: 100 }
          ]
        })
        assert.deepStrictEqual(yield* urisOn(agent), [
          windowUri(`${encodeURIComponent("名 前")}?priority=100`),
          windowUri("c%2Fd?priority=0&fullscreen=false")
        ])
        for (const priority of [101, -1, 1.5]) {
          const error = yield* computer.offer([{ windows: [{ name: "w", priority }] }])
          assert.deepInclude(error, { code: "config_invalid" })
        }
      })
    )

    conform("cases 239, 240, 249: sorts windows by priority, and equal ones by their order", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({
          windows: [
            { name: "none" },
            { name: "low", priority: 10 },
            { name: "x", priority: 90, fullscreen: false },
            { name: "y", priority: 90, fullscreen: false },
            { name: "also" }
          ]
        })
        const names = (yield* urisOn(agent)).map((uri) => /functions\/(\w+)/.exec(uri ?? "")?.[1])
        assert.deepStrictEqual(names, ["x", "y", "low", "none", "also"])
      })
    )

    conform("case 246: shows the first fullscreen window alone", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({
          windows: [
            { name: "first", priority: 10, fullscreen: true },
            { name: "second", priority: 90, fullscreen: true },
            { name: "normal", priority: 100 }
          ]
        })
        assert.deepStrictEqual(yield* urisOn(agent), [windowUri("first?priority=10&fullscreen=true")])
      })
    )

    conform("cases 250, 251, 252, 264: limits the desktop to the size", ({ computer, members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({ windows: [{ name: "a" }, { name: "b" }, { name: "c" }] })
        const lengths = []
        for (const desktop_size of [0, -3, 1, 2, 99, null]) {
          lengths.push((yield* agent.desktop({ desktop_size })).length)
        }
        assert.deepStrictEqual(lengths, [0, 0, 1, 2, 3, 3])
        yield* computer({ name: "pc-2" })
        assert.deepStrictEqual(yield* agent.desktop({ computer: "pc-2" }), [])
      })
    )

    conform("case 254: rejects other types of size and window", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        for (const bad of [{ desktop_size: "2" }, { desktop_size: 1.5 }, { window: 5 }]) {
          assertRejected([yield* agent.ask("client:get_desktop", bad)], 400)
        }
      })
    )

    conform("cases 255, 256, 257, 258: finds one window by its exact URI", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({
          windows: [
            { name: "full", fullscreen: true },
            { name: "small", priority: 1 }
          ]
        })
        const small = windowUri("small?priority=1")
        assert.deepStrictEqual(yield* urisOn(agent, { window: small }), [small])
        for (const window of [windowUri("small"), `${small}/`, "window://nope"]) {
          const reply = yield* agent.ask("client:get_desktop", { window, req_id: "r1" })
          assert.deepStrictEqual(reply, { desktops: [], req_id: "r1" })
        }
      })
    )
  })

  describe("update of the desktop", () => {
    conform("cases 265, 266, 271: follows added, removed and renamed windows", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ windows: [{ name: "a" }] })
        const offer = yield* computer.offer([{ windows: [{ name: "b" }] }, { windows: [{ name: "c" }] }])
        assert.deepStrictEqual(yield* agent.receive("notify:update_desktop"), { computer: "pc-1" })
        assert.lengthOf(yield* agent.desktop(), 3)
        yield* computer.withdraw(offer as number, { windows: [{ name: "b", priority: 3 }] })
        yield* agent.receive("notify:update_desktop")
        assert.deepStrictEqual(yield* urisOn(agent), [windowUri("b?priority=3"), windowUri("a")])
        yield* announced(agent)
        assert.deepStrictEqual(updatesAt(agent), [2, 0])
      })
    )

    conform("replaces a window of the same name with other parameters", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ windows: [{ name: "a", priority: 1 }] })
        yield* computer.offer([{ windows: [{ name: "a", priority: 2, text: "after" }] }])
        yield* agent.receive("notify:update_desktop")
        assert.deepStrictEqual(yield* agent.desktop(), [`${windowUri("a?priority=2")}\n\nafter`])
      })
    )

    conform("notifies of a window that another one of its name and URI replaces", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ windows: [{ name: "a", text: "before" }] })
        const offer = yield* computer.offer([{ windows: [{ name: "a", text: "after" }] }])
        yield* agent.receive("notify:update_desktop")
        assert.deepStrictEqual(yield* agent.desktop(), [`${windowUri("a")}\n\nafter`])
        yield* computer.withdraw(offer as number, { windows: [{ name: "a", text: "last" }] })
        yield* agent.receive("notify:update_desktop")
        assert.deepStrictEqual(yield* agent.desktop(), [`${windowUri("a")}\n\nlast`])
      })
    )

    conform("cases 267, 268: sends no notification without a changed window", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ tools: [{ name: "t" }], windows: [{ name: "a", isSignal: true }] })
        yield* computer.write("a", "T")
        yield* computer.changed("unknown")
        yield* computer.offer([{ tools: [{ name: "u" }] }])
        yield* agent.receive("notify:update_tool_list")
        yield* announced(agent)
        assert.deepStrictEqual(updatesAt(agent), [0, 0])
      })
    )

    conform("case 269: notifies of a new text, also of a later window", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ windows: [{ name: "a", isSignal: true }] })
        yield* computer.write("a", "two")
        yield* agent.receive("notify:update_desktop")
        assert.deepStrictEqual(yield* agent.desktop(), [`${windowUri("a")}\n\ntwo`])
        const offer = yield* computer.offer([{ windows: [{ name: "b" }] }])
        yield* agent.receive("notify:update_desktop")
        yield* computer.write("b", "two")
        yield* computer.changed("b")
        yield* agent.receive("notify:update_desktop")
        assert.lengthOf(yield* agent.desktop({ window: windowUri("b") }), 1)
        yield* computer.withdraw(offer as number)
        yield* agent.receive("notify:update_desktop")
        yield* computer.changed("b")
        yield* announced(agent)
        assert.deepStrictEqual(updatesAt(agent), [4, 0])
      })
    )

    conform(
      "cases 274, 275: sends nothing outside an office, and shows the change after the next join",
      ({ members }) =>
        Effect.gen(function* () {
          const [agent, computer] = yield* members()
          yield* computer.leave()
          yield* agent.receive("notify:leave_office")
          yield* computer.offer([{ windows: [{ name: "a" }] }])
          // Its Computer may see the change after the next join, and notify of it then.
          assert.deepStrictEqual(updatesAt(agent), [0, 0])
          assert.isNull(yield* computer.rejoin("O1"))
          assert.lengthOf(yield* agent.desktop(), 1)
        })
    )
  })

  describe("client:get_dpe", () => {
    const json = { gives: { uri: "oss://b/k", mimeType: "application/json", size: 3 } }

    conform("cases 277, 282, 291: resolves a document to a URI", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({
          documents: [{ name: "rpt", mimeType: "application/json", content: '{"n":1}' }, { name: "a/b" }],
          resolveDpe: [json]
        })
        const uri = documentUri("rpt")
        assert.deepStrictEqual(yield* agent.ask("client:get_dpe", { uri, req_id: "r1" }), {
          uri: "oss://b/k",
          mime_type: "application/json",
          size: 3,
          req_id: "r1"
        })
        yield* agent.ask("client:get_dpe", { uri: documentUri("a%2Fb") })
        const [first, second] = yield* computer.details("resolveDpe")
        assert.deepInclude(first, {
          uri,
          contents: [{ uri, mimeType: "application/json", text: '{"n":1}' }],
          hint: { mcpServerName: "functions", mimeType: "application/json", agent: "agent-1", reqId: "r1" }
        })
        assert.deepInclude(second, { uri: documentUri("a%2Fb") })
      })
    )

    conform("gives the URL of a document without a resolver", ({ members }) =>
      Effect.gen(function* () {
        const url = "https://example.org/there"
        const [agent] = yield* members({ documents: [{ name: "there", url, mimeType: "text/plain" }] })
        const reply = yield* agent.ask("client:get_dpe", { uri: documentUri("there") })
        assert.deepInclude(reply, { uri: url, mime_type: "text/plain" })
      })
    )

    conform("cases 279, 280, 285: rejects a URI without a document, and reads nothing", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ documents: [{ name: "rpt" }] })
        for (const uri of ["dpe://functions", "dpe://functions/", "dpe:///x", "http://a/b", "dpe://", "", "junk"]) {
          const error = yield* agent.ask("client:get_dpe", { uri })
          assertRejected([error], 4012)
          assert.strictEqual(error["uri"], uri)
          assert.isString(error["reason"])
        }
        for (const uri of ["dpe://unknown/rpt", documentUri("unknown")]) {
          assertRejected([yield* agent.ask("client:get_dpe", { uri })], 4013)
        }
        assert.deepStrictEqual(yield* computer.details("read rpt"), [])
      })
    )

    conform("case 283: drops a query", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ documents: [{ name: "rpt" }], resolveDpe: [json] })
        const { uri } = yield* agent.ask("client:get_dpe", { uri: `${documentUri("rpt")}?format=md#x` })
        assert.strictEqual(uri, "oss://b/k")
        assert.include((yield* computer.logs()).join(), "query and fragment ignored")
      })
    )

    conform("cases 288, 289, 290, 292, 295: reports failures without internals", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({
          documents: [{ name: "rpt" }, { name: "gone", content: null }],
          resolveDpe: ["throws", { gives: { uri: "" } }, { gives: undefined }, "waits"]
        })
        const unread = yield* agent.ask("client:get_dpe", { uri: documentUri("gone") })
        assertRejected([unread], 4013)
        assert.strictEqual(unread["category"], "upstream_unavailable")
        for (const category of ["resolver_error", "resolver_returned_invalid", "resolver_returned_invalid"]) {
          const failed = yield* agent.ask("client:get_dpe", { uri: documentUri("rpt") })
          assertRejected([failed], 4013)
          assert.strictEqual(failed["category"], category)
          assert.notInclude(JSON.stringify(failed), "s3cret")
        }
        assert.lengthOf(yield* computer.details("read rpt"), 3)
      })
    )

    conform("case 293: fails when the resolver exceeds the timeout", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({ documents: [{ name: "rpt" }], resolveDpe: ["waits"] })
        assertRejected([yield* agent.ask("client:get_dpe", { uri: documentUri("rpt"), timeout: 1 })], 4013)
      })
    )

    conform("case 294: rejects other types of the fields", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        const uri = documentUri("d")
        for (const bad of [{}, { uri: 5 }, { uri, timeout: "x" }, { uri, timeout: 0 }]) {
          assertRejected([yield* agent.ask("client:get_dpe", bad)], 400)
        }
      })
    )
  })

  describe("client:get_resources", () => {
    conform("cases 296, 298: lists windows and documents in their order", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({
          windows: [{ name: "w", title: "W", description: "a window" }],
          documents: [{ name: "d.md", mimeType: "text/markdown", pages: 2, keywords: ["k"] }]
        })
        const mime = (mimeType: string) => ({ mimeType, mime_type: mimeType })
        const all = {
          resources: [
            { uri: windowUri("w"), name: "w", title: "W", description: "a window", ...mime("text/plain") },
            {
              uri: documentUri("d.md"),
              name: "d.md",
              _meta: { page_count: 2, keywords: ["k"], file_type: "md" },
              ...mime("text/markdown")
            }
          ],
          req_id: "r1"
        }
        for (const cursor of [{}, { cursor: null }]) {
          const fields = { mcp_server: "functions", req_id: "r1", ...cursor }
          assert.deepStrictEqual(yield* agent.ask("client:get_resources", fields), all)
        }
      })
    )

    conform("case 299: rejects an unknown server", ({ line, members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        const error = yield* agent.ask("client:get_resources", { mcp_server: "nope" })
        assertRejected([error], line === "0.2" ? 404 : 4014)
        assert.include(error["message"], "nope")
      })
    )

    conform("cases 305, 306: finds the server by its key in the configuration", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        for (const bad of [{}, { mcp_server: 7 }, { mcp_server: "functions", cursor: 5 }]) {
          assertRejected([yield* agent.ask("client:get_resources", bad)], 400)
        }
        const { servers } = yield* agent.ask("client:get_config")
        assert.deepStrictEqual(Object.keys(servers as object), ["functions"])
        for (const mcp_server of Object.keys(servers as object)) {
          assert.isArray((yield* agent.ask("client:get_resources", { mcp_server }))["resources"])
        }
      })
    )
  })

  describe("client:get_finder", () => {
    const find = (agent: ScriptedAgent, fields: object = {}, event = "client:get_finder") =>
      Effect.map(agent.ask(event, fields), ({ documents, total_count }) => ({
        documents: documents as ReadonlyArray<{ readonly doc_ref: string; readonly page_count: number }>,
        total: total_count
      }))
    const namesIn = (agent: ScriptedAgent, fields: object) =>
      Effect.map(find(agent, fields), ({ documents }) => documents.map(({ doc_ref }) => doc_ref))

    conform("cases 307, 308, 309, 310, 311, 312: lists the catalogue", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({
          windows: [{ name: "w" }],
          documents: [
            { name: "full.pdf", title: "Full", description: "a summary", pages: 2, keywords: ["k"] },
            { name: "plain", pages: 1 },
            { name: "read", content: { page_count: 4, title: "Read" } },
            { name: "none" }
          ]
        })
        const { documents, total } = yield* find(agent)
        assert.strictEqual(total, 3)
        assert.deepStrictEqual<unknown>(documents[0], {
          doc_ref: "full.pdf",
          uri: documentUri("full.pdf"),
          file_uri: "",
          file_type: "pdf",
          title: "Full",
          page_count: 2,
          keywords: ["k"],
          summary: "a summary",
          server: "functions"
        })
        assert.deepInclude<object | undefined>(documents[1], {
          doc_ref: "plain",
          file_uri: "",
          file_type: "",
          title: "plain"
        })
        assert.deepInclude<object | undefined>(documents[2], { doc_ref: "read", page_count: 4 })
      })
    )

    conform("case 329: lists nothing without documents", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        assert.deepStrictEqual<unknown>(yield* find(agent), { documents: [], total: 0 })
      })
    )

    conform("cases 313, 314, 315, 316, 317, 318: filters by keywords and type", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members({
          documents: [
            { name: "a.pdf", title: "Annual report", pages: 1 },
            { name: "b.md", pages: 1, keywords: ["report"] },
            { name: "c.pdf", pages: 1, description: "reports of others" },
            { name: "d.pdf", pages: 1 }
          ]
        })
        for (const [fields, expected] of [
          [{ keywords: ["REPORT"] }, ["a.pdf", "b.md", "c.pdf"]],
          [{ keywords: ["zzz", "annual"] }, ["a.pdf"]],
          [{ keywords: [] }, ["a.pdf", "b.md", "c.pdf", "d.pdf"]],
          [{ file_type: "pdf" }, ["a.pdf", "c.pdf", "d.pdf"]],
          [{ file_type: "PDF" }, []],
          [{ file_type: "pdf", keywords: ["report"] }, ["a.pdf", "c.pdf"]]
        ] as const) {
          assert.deepStrictEqual(yield* namesIn(agent, fields), [...expected])
        }
      })
    )

    conform("cases 319, 320, 321, 322, 335: returns pages under both names of the event", ({ members }) =>
      Effect.gen(function* () {
        const documents = Array.from({ length: 150 }, (_, index) => ({ name: `d${index}`, pages: 1 }))
        const [agent] = yield* members({ documents })
        const size = (fields: object, event?: string) =>
          Effect.map(find(agent, fields, event), ({ documents, total }) => [documents.length, total])
        assert.deepStrictEqual(yield* size({}), [20, 150])
        assert.deepStrictEqual(yield* size({ offset: 145, limit: 10 }), [5, 150])
        assert.deepStrictEqual(yield* size({ offset: 150 }), [0, 150])
        assert.deepStrictEqual(yield* size({ limit: 500 }), [100, 150])
        assert.deepStrictEqual(yield* size({ tags: ["d14"] }, "client:list_finder"), [11, 11])
      })
    )

    conform("case 323: rejects other types and values of the fields", ({ members }) =>
      Effect.gen(function* () {
        const [agent] = yield* members()
        const bad = [
          ...[0, -1, 1.5, "5"].map((limit) => ({ limit })),
          ...[-1, "0"].map((offset) => ({ offset })),
          ...["x", [1]].map((keywords) => ({ keywords })),
          { file_type: 3 }
        ]
        for (const fields of bad) assertRejected([yield* agent.ask("client:get_finder", fields)], 400)
      })
    )

    conform("cases 330, 331, 332, 333: separates updates of documents from those of windows", ({ members }) =>
      Effect.gen(function* () {
        const [agent, computer] = yield* members({ documents: [{ name: "a", pages: 1 }] })
        yield* computer.offer([{ documents: [{ name: "b", pages: 1 }] }])
        assert.deepStrictEqual(yield* agent.receive("notify:update_finder"), { computer: "pc-1" })
        assert.deepStrictEqual(updatesAt(agent), [0, 1])
        yield* computer.offer([{ windows: [{ name: "w" }] }])
        yield* agent.receive("notify:update_desktop")
        assert.deepStrictEqual(updatesAt(agent), [1, 1])
        yield* computer.changed("b")
        yield* agent.receive("notify:update_finder")
        yield* announced(agent)
        assert.deepStrictEqual(updatesAt(agent), [1, 2])
      })
    )
  })
})
